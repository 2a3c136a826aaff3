"""Copies and memsets: nsys' enum numbers, and the names PyTorch gives the same events."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

MEMORY = dict(enumerate(("pageable", "pinned", "device", "array", "managed", "device_static", "managed_static")))
_MEMORY_WORDS = [*(word.replace("_", " ").title() for word in MEMORY.values()), "Unknown"]
_MEMORIES = len(_MEMORY_WORDS)

# By copyKind: the direction that the name says, and the kind. Arrays (A) are texture memory of the device.
_COPIES = (
    ("Unknown", None),
    ("HtoD", "h2d"),
    ("DtoH", "d2h"),
    ("HtoA", "h2d"),
    ("AtoH", "d2h"),
    ("AtoA", "d2d"),
    ("AtoD", "d2d"),
    ("DtoA", "d2d"),
    ("DtoD", "d2d"),
    ("HtoH", "h2h"),
    ("PtoP", "p2p"),
    ("HtoD", "um"),
    ("DtoH", "um"),
    ("DtoD", "um"),
)
COPY_KINDS = {number: kind for number, (_, kind) in enumerate(_COPIES) if kind}
MIGRATION_CAUSES = dict(
    enumerate(('"prefetch"', '"page fault"', '"speculative prefetch"', '"eviction"', '"access counters"'), 1)
)

# Every name there can be, by (kind * 8 + source) * 8 + destination, so that naming is arithmetic.
_COPY_NAMES = pa.array(
    [
        f"Memcpy {direction} (Unified)" if kind == "um" else f"Memcpy {direction} ({src} -> {dst})"
        for direction, kind in _COPIES
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
    code = _coded(kinds, len(_COPIES), 0)
    for memory in (sources, destinations):
        code = pc.add(pc.multiply(code, _MEMORIES), _coded(memory, _MEMORIES, _MEMORIES - 1))
    return pa.DictionaryArray.from_arrays(code, _COPY_NAMES)


def memset_names(kinds: pa.Array) -> pa.DictionaryArray:
    """'Memset (Device)' and so on, from memKind."""
    return pa.DictionaryArray.from_arrays(_coded(kinds, _MEMORIES, _MEMORIES - 1), _MEMSET_NAMES)
