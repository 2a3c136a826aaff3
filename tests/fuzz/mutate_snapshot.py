"""Memory snapshots that are damaged or hostile: a history changed by its structure, opcodes changed in its pickle."""

from __future__ import annotations

import gzip
import pickle
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "importers"))

import snapshots
from values import FLOATS, INTEGERS, TEXTS, damage_bytes

_HISTORY = """
    0 segment_alloc 1000 2097152 init
    1 alloc 1000 512 init
    2 alloc 2000 1024 forward
    3 alloc 3000 4096 forward
    4 free 2000 1024 backward
    5 freed 2000 1024 backward
    6 alloc 5000 1000000 optimizer
    7 oom 99 5000000000 forward
    8 snapshot 0 0 main
"""
_OPCODES = (
    b"(.)]}ae02bBcCdDeFgGhijJKlLmMnNoOpPqQrRsStTuUvVxX"
    b"\x80\x81\x82\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95"
)


class _Call:
    """Pickles as a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self._call


def _draw_value(rng: random.Random) -> Any:
    deep: Any = ()
    for _ in range(rng.choice((1, 50, 500))):
        deep = [deep]
    return rng.choice(
        (
            *(
                rng.choice(INTEGERS),
                rng.choice(INTEGERS),
                rng.choice(FLOATS),
                float("nan"),
                float("inf"),
                rng.choice(TEXTS),
                None,
                True,
            ),
            *(
                [],
                {},
                (),
                deep,
                b"\xff",
                {"a": 1},
                {1: 2},
                {1.5: 2},
                {None: 1},
                {(1, 2): 3},
                set(),
                1 << 2000,
                bytearray(b"x"),
            ),
            *(_Call(print, "called"), _Call(eval, "1/0"), [1, "2", None], [[]] * 50),
        )
    )


def _list_containers(value: Any, found: list[Any], seen: set[int]) -> list[Any]:
    if isinstance(value, (dict, list)) and id(value) not in seen:
        seen.add(id(value))
        found.append(value)
        for each in value.values() if isinstance(value, dict) else value:
            _list_containers(each, found, seen)
    return found


def _change_content(content: Any, rng: random.Random) -> None:
    container = rng.choice(_list_containers(content, [], set()))
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    what = rng.randrange(4)
    if what == 0 and keys:
        del container[rng.choice(keys)]
    elif what == 1 and isinstance(container, list) and container:
        container += container[: rng.choice((1, 100))] * rng.choice((1, 20))
    elif what == 2 and isinstance(container, list):
        rng.shuffle(container)
    elif keys:
        container[rng.choice(keys)] = (
            rng.choice((_draw_value(rng), container)) if rng.random() < 0.1 else _draw_value(rng)
        )


def _load_plain() -> Any:
    segments = [snapshots.make_segment(1000, "512 512 used init\n1024 1000 free forward\n4096 4096 waiting forward")]
    history = snapshots.make_history(_HISTORY)
    annotations = [{"device": 0, "stage": "START", "name": "ProfilerStep#1", "time_us": 1}]
    return snapshots.make_snapshot(history, segments=segments, annotations=annotations)


def plain_snapshot() -> bytes:
    """A snapshot that is not damaged."""
    return pickle.dumps(_load_plain(), 4)


def mutate_snapshot(rng: random.Random) -> tuple[bytes, str]:
    """The content of a file and the end of its name."""
    content = _load_plain()
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        _change_content(content, rng)
    data = bytearray(pickle.dumps(content, rng.choice((2, 3, 4, 4, 5))))
    if rng.random() < 0.4:
        for _ in range(rng.choice((1, 1, 3, 20))):
            data[rng.randrange(len(data))] = rng.choice(_OPCODES)
    if rng.random() < 0.25:
        data = bytearray(damage_bytes(bytes(data), rng))
    if rng.random() < 0.1:
        return gzip.compress(bytes(data), 1), ".pickle.gz"
    return bytes(data), ".pickle"
