"""Copies and memsets: nsys' enum numbers, and the names PyTorch gives the same events."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MEMORY = {
    0: "pageable",
    1: "pinned",
    2: "device",
    3: "array",
    4: "managed",
    5: "device_static",
    6: "managed_static",
}
_MEMORY_WORDS = [*(word.replace("_", " ").title() for word in MEMORY.values()), "Unknown"]
_MEMORIES = len(_MEMORY_WORDS)

_DIRECTIONS = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
    11: "HtoD",
    12: "DtoH",
    13: "DtoD",
}
# Arrays (A) are texture memory of the device.
COPY_KINDS = {
    1: "h2d",
    2: "d2h",
    3: "h2d",
    4: "d2h",
    5: "d2d",
    6: "d2d",
    7: "d2d",
    8: "d2d",
    9: "h2h",
    10: "p2p",
    11: "um",
    12: "um",
    13: "um",
}
MIGRATION_CAUSES = {
    1: '"prefetch"',
    2: '"page fault"',
    3: '"speculative prefetch"',
    4: '"eviction"',
    5: '"access counters"',
}


def _copy_name(kind: int, src: str, dst: str) -> str:
    direction = _DIRECTIONS.get(kind, "Unknown")
    return f"Memcpy {direction} (Unified)" if COPY_KINDS.get(kind) == "um" else f"Memcpy {direction} ({src} -> {dst})"


# Every name there can be, by (kind * 8 + source) * 8 + destination, so that naming is arithmetic.
_COPY_NAMES = pa.array(
    [
        _copy_name(kind, src, dst)
        for kind in range(max(_DIRECTIONS) + 1)
        for src in _MEMORY_WORDS
        for dst in _MEMORY_WORDS
    ]
)
_MEMSET_NAMES = pa.array([f"Memset ({word})" for word in _MEMORY_WORDS])


def _coded(column: pa.Array, codes: int, unknown: int) -> pa.Array:
    """Enum numbers 0..codes-1; anything else is `unknown`."""
    known = pc.and_(pc.greater_equal(column, 0), pc.less(column, codes))
    return pc.if_else(known.fill_null(False), column, pa.scalar(unknown, pa.int64())).cast(pa.int32())


def copy_names(kinds: pa.Array, sources: pa.Array, destinations: pa.Array) -> pa.DictionaryArray:
    """'Memcpy HtoD (Pinned -> Device)' and so on, from copyKind, srcKind and dstKind."""
    code = _coded(kinds, max(_DIRECTIONS) + 1, 0)
    for memory in (sources, destinations):
        code = pc.add(pc.multiply(code, _MEMORIES), _coded(memory, _MEMORIES, _MEMORIES - 1))
    return pa.DictionaryArray.from_arrays(code, _COPY_NAMES)


def memset_names(kinds: pa.Array) -> pa.DictionaryArray:
    """'Memset (Device)' and so on, from memKind."""
    return pa.DictionaryArray.from_arrays(_coded(kinds, _MEMORIES, _MEMORIES - 1), _MEMSET_NAMES)
