"""Each opcode that a pickle can have, alone and in an otherwise good snapshot: read or refused in a line, never run."""

from __future__ import annotations

import pickle
import pickletools
import struct
import sys
import tracemalloc

from snapshots import make_history, make_segment, make_snapshot

from traceq.errors import UnusableTrace
from traceq.importers.memory_snapshot import read

# A module that would be noticed if it was imported.
CANARY = "canary_of_pickles"

CONTENT = make_snapshot(
    make_history("0 segment_alloc 1000 2097152 init\n1 alloc 1000 512 init\n2 oom 99 5000 forward"),
    segments=[make_segment(1000, "512 512 used init")],
    annotations=[{"device": 0, "stage": "START", "name": "a", "time_us": 1}],
)


def pack(layout, *numbers):
    return [struct.pack(layout, number) for number in numbers]


def sized(layout, *too_long):
    """A text of one byte behind its size, and sizes that nothing follows."""
    return [struct.pack(layout, 1) + b"a", *pack(layout, *too_long)]


# By name of the argument in pickletools: what follows the opcode.
ARGUMENTS = {
    None: [b""],
    "uint1": [b"\0", b"\xff"],
    "uint2": [b"\0\0", b"\xff\xff"],
    "int4": pack("<i", 0, -1, 2**31 - 1, -(2**31)),
    "uint4": pack("<I", 0, 2**31, 2**32 - 1),
    "uint8": pack("<Q", 0, 5, 2**31, 2**64 - 1),
    "stringnl": [b"'x'\n", b"no quotes\n"],
    "stringnl_noescape": [f"{CANARY}\n".encode()],
    "stringnl_noescape_pair": [f"{CANARY}\nrun\n".encode()],
    "unicodestringnl": [b"x\n"],
    "decimalnl_short": [b"1\n", b"01\n", b"9" * 5000 + b"\n"],
    "decimalnl_long": [b"1L\n", b"9" * 50_000 + b"L\n"],
    "floatnl": [b"1.5\n"],
    "float8": pack(">d", 0.0, float("nan"), float("inf")),
    "string1": sized("<B", 255),
    "string4": sized("<i", -1, 2**31 - 1),
    "bytes1": sized("<B", 255),
    "bytes4": sized("<I", 2**32 - 1),
    "bytes8": sized("<Q", 2**63, 2**64 - 1),
    "bytearray8": sized("<Q", 2**63),
    "unicodestring1": [b"\1\xff", *sized("<B", 255)],
    "unicodestring4": sized("<I", 2**32 - 1),
    "unicodestring8": sized("<Q", 2**64 - 1),
    "long1": [b"\1\5", b"\xff" + b"\x7f" * 255],
    "long4": sized("<i", -1, 2**31 - 1),
}

OPCODES = [
    (opcode.name, opcode.code.encode("latin-1") + argument)
    for opcode in pickletools.opcodes
    for argument in ARGUMENTS[opcode.arg and opcode.arg.name]
]


def read_as(path, content):
    """Return whether the file of this content is read, else the line with which it is refused."""
    path.write_bytes(content)
    try:
        list(read(path))
    except UnusableTrace as error:
        return str(error)
    return "read"


def plant(folder, monkeypatch):
    (folder / f"{CANARY}.py").write_text("raise SystemExit('it was run')\n")
    monkeypatch.syspath_prepend(folder)


def test_each_opcode_alone_is_refused_in_a_line(tmp_path, monkeypatch):
    plant(tmp_path, monkeypatch)
    path = tmp_path / "snapshot.pickle"
    wrong = []
    for name, code in OPCODES:
        for protocol in range(6):
            head = b"\x80" + bytes([protocol]) if protocol else b""
            # what stands there for GLOBAL to be looked up, called with, built from
            named = b"\x8c" + bytes([len(CANARY)]) + CANARY.encode() + b"\x8c\x03run"
            for body in (code + b".", code, named + code + b")R."):
                said = read_as(path, head + body)
                # an empty dict, list or tuple is a snapshot of nothing
                if "\n" in said or (said == "read" and name not in ("EMPTY_LIST", "PROTO", "FRAME")):
                    wrong.append((name, protocol, body[:20], said))
    assert not wrong
    assert CANARY not in sys.modules


def test_each_opcode_within_a_snapshot_is_read_or_refused_in_a_line(tmp_path, monkeypatch):
    plant(tmp_path, monkeypatch)
    path = tmp_path / "snapshot.pickle"
    good = pickle.dumps(CONTENT, 4)
    assert read_as(path, good) == "read"
    # all but what follows the last one, STOP
    places = [place for _, _, place in pickletools.genops(good)][2::23]
    tracemalloc.start()
    said = {
        (name, place): read_as(path, good[:place] + code + good[place:]) for name, code in OPCODES for place in places
    }
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [line for line in said.values() if "\n" in line] == []
    # those that import, call, build, or ask whoever loads them for an object
    asking = {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4"}
    asking |= {"PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER"}
    told = {line.partition("of PyTorch: ")[2].split()[0] for (name, _), line in said.items() if name in asking}
    assert told == {"opcode"}
    assert peak < 32 << 20
    assert CANARY not in sys.modules
