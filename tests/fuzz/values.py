"""Values that break readers of files: ends of integers, odd floats, odd text, odd shapes."""

from __future__ import annotations

import random
import re
from typing import Any

# A string that begins like this is written into JSON without its quotes: tokens that no Python value makes.
RAW = "@@raw:"

_BITS = (7, 15, 31, 32, 43, 53, 60, 62, 63, 64, 100)
INTEGERS = (
    *(sign * ((1 << bits) + more) for bits in _BITS for more in (-1, 0, 1) for sign in (1, -1)),
    *(0, 1, -1, 86_400 * 7 * 10**9, 10**18, 8_990_000_000_000_000, -8_990_000_000_000_000),
)
# The smallest and the largest of a kind of number.
ENDS = (
    (-(1 << 63), (1 << 63) - 1),
    (-(1 << 62), 1 << 62),
    (0, (1 << 63) - 1),
    (-1, 1 << 50),
    (-(1 << 31), (1 << 32) - 1),
)
FLOATS = (0.5, -0.0, 1e-320, 5e-324, 1e15 + 0.3, 8.99e15, -8.99e15, 9e15, 1e18, 1e300, -1e300, 1.7976931348623157e308)
TOKENS = tuple(
    f"{RAW}{token}"
    for token in (
        *(
            "NaN",
            "nan",
            "Infinity",
            "-Infinity",
            "inf",
            "N/A",
            "1e999999999",
            "-1e999999999",
            "1e-999999999",
            "9" * 400,
        ),
        *("01", "+1", "0x10", "1.", ".5", "1e", "tru", "None", "'x'", "", "1 2", "--1", "{}{}", "[", "]", "}", ","),
        *("1" + "0" * 5000, "0." + "0" * 5000 + "1", "123456789012345678901234567890.123456789", "1.5e3", "-0"),
    )
)
TEXTS = (
    *(
        "",
        " ",
        "0",
        "-1",
        "7",
        "1e5",
        "nan",
        "inf",
        "1e999999999",
        "true",
        "null",
        "{}",
        "[]",
        "[memory]",
        "a" * 100_000,
    ),
    *(
        "\x00",
        "a\x00b",
        "\n",
        "\t",
        "\x1b[31m",
        "\u202e",
        "\ud800",
        "\udfff\ud800",
        "\U0001f600",
        "\ufeff",
        "\ufffd",
        "\x7f",
        "\x85",
    ),
    *(
        "'",
        '"',
        "\\",
        "%s",
        "{0}",
        "$1",
        "`",
        "<b>",
        "=1+1",
        "../../x",
        "; drop table trace",
        "*/",
        "--",
        "\u0000" * 50,
    ),
    *(
        "ProfilerStep#1",
        "ProfilerStep#",
        "ProfilerStep#99999999999999999999",
        "traceq.step#1",
        "traceq.phase#x",
        "record_param_comms",
    ),
    *("nccl:all_reduce", "aten::mm", "cudaLaunchKernel", "Memcpy HtoD (Pinned -> Device)", "cudaStreamSynchronize"),
    *(
        "ncclDevKernel_AllReduce",
        "Optimizer.step#SGD.step",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    ),
    *("\u0661\u0662", "1_000", " 12 ", "\uff11", "١٢", "12abc", "1" * 5000),
)

# What is no number, alone and as many of one length.
SHAPES = ([], {}, [1], [[1]], [1, 2], [[], []], [None], ["1"], {"a": 1}, [{}])


def _draw_shapes(rng: random.Random) -> Any:
    deep: Any = 1
    for _ in range(rng.choice((1, 3, 60, 300, 1200))):
        deep = [deep] if rng.random() < 0.7 else {"x": deep}
    return rng.choice(
        ([], {}, [[]], [{}], [None], [[1, 2], [3]], {"": None}, {"a": {"b": [1, "2", None]}}, True, False, None, deep)
    )


def draw_hostile(rng: random.Random) -> Any:
    """Draw any value for any member."""
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(INTEGERS)
    if kind < 0.45:
        return rng.choice(FLOATS)
    if kind < 0.6:
        return rng.choice(TOKENS)
    if kind < 0.85:
        return rng.choice(TEXTS)
    return _draw_shapes(rng)


def time(rng: random.Random) -> Any:
    """A time or a duration that may be one."""
    return rng.choice((*INTEGERS, *FLOATS, *FLOATS, -1, 0.001, 1e12 + 0.001, "5.5", str(1 << 62)))


def json_text(text: str) -> str:
    """The text of json.dumps with the raw tokens as they are."""
    return re.sub(rf'"{RAW}((?:[^"\\]|\\.)*)"', lambda found: found[1], text)


def damage_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return bytes of a file, cut short, with bytes changed, lost, doubled or put in."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        at = rng.randrange(len(data) + 1) if data else 0
        size = rng.choice((1, 2, 8, 64, 4096))
        what = rng.randrange(7)
        if what == 0:
            data[at:] = b""
        elif what == 1 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif what == 2:
            data[at : at + size] = b""
        elif what == 3:
            data[at:at] = bytes(data[at : at + size])
        elif what == 4:
            data[at:at] = rng.choice(
                (
                    b"\x00",
                    b"\xff\xfe",
                    b"\xc3",
                    b"\xed\xa0\x80",
                    b'"',
                    b"\\",
                    b"}",
                    b"]",
                    b"{",
                    b",",
                    b"\n",
                    b"\x1f\x8b",
                )
            )
        elif what == 5:
            data[at : at + size] = bytes(rng.randrange(256) for _ in range(min(size, 64)))
        else:
            other = rng.randrange(len(data) + 1) if data else 0
            data[at:at] = bytes(data[other : other + size])
    return bytes(data)
