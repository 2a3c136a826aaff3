"""Parts that the readers of records share: the staged columns, unpacking, and which values a record can have."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

HEAD_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"

# The columns of the staged table inspected_record: one row per operation and rank, in the words of the file. Times in ns,
# utc_ns since 1970, sizes in bytes, bandwidths in GB/s.
RECORD_SCHEMA = pa.schema({
    "file": pa.int32(), "host": pa.string(), "pid": pa.int64(), "communicator": pa.string(),
    "communicator_name": pa.string(), "communicator_rank": pa.int32(), "group_size": pa.int32(), "nodes": pa.int32(),
    "op": pa.string(), "sequence": pa.int64(), "peer": pa.int32(), "message_bytes": pa.int64(), "dur": pa.int64(),
    "timing": pa.string(), "algorithm": pa.string(), "protocol": pa.string(), "said_algorithm_bandwidth": pa.float64(),
    "said_bus_bandwidth": pa.float64(), "utc_ns": pa.int64(), "utc_source": pa.string(),
})  # fmt: skip

# The greatest values that a record is believed, by column: with them, sums and products fit 64 bits.
_MOST = {
    "pid": 1 << 32, "communicator_rank": 1 << 20, "group_size": 1 << 20, "nodes": 1 << 20, "sequence": 1 << 62,
    "peer": 1 << 20, "message_bytes": 1 << 42, "dur": 10**18, "utc_ns": 1 << 62,
}  # fmt: skip
# Larger numbers cannot be squared and summed.
_MOST_REAL = 1e100
_NEEDED = ("communicator", "communicator_rank", "op", "sequence", "message_bytes", "dur")


def open_packed(path: Path) -> IO[bytes]:
    """Open the file for reading its bytes, unpacked if it is gzip'd. Raises OSError."""
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    opened: IO[bytes] = cast("IO[bytes]", gzip.open(path, "rb")) if is_packed else path.open("rb")  # noqa: SIM115 - the caller's
    return opened


def keep_possible(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    """Return the rows of inspected_record that can be true, and how many others there are.

    A row needs communicator, rank, operation, sequence, size and duration; no number may be negative or impossibly large.
    """
    keep = None
    for column in _NEEDED:
        keep = _combine_masks(keep, rows.column(column).is_valid())
    for column, most in _MOST.items():
        values = rows.column(column)
        is_possible = pc.and_(pc.greater_equal(values, 0), pc.less(values, most)).fill_null(True)
        keep = _combine_masks(keep, is_possible)
    kept = rows.filter(keep)
    return kept, rows.num_rows - kept.num_rows


def _combine_masks(first: pa.Array | None, second: pa.Array) -> pa.Array:
    """Return the logical and of two columns; the second where there is no first."""
    return second if first is None else pc.and_(first, second)


def make_record_batch(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows of inspected_record from dicts; values that do not fit their column are NULL."""
    return pa.RecordBatch.from_arrays(
        [pa.array([fit_value(row.get(field.name), field.type) for row in rows], field.type) for field in RECORD_SCHEMA],
        schema=RECORD_SCHEMA,
    )


def fit_value(value: Any, kind: pa.DataType) -> Any:
    """Return the value if a column of this type holds such values, else None: texts as they are, whole numbers, floats."""
    if pa.types.is_string(kind):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if pa.types.is_integer(kind):
        limit = 1 << (kind.bit_width - 1)
        return value if isinstance(value, int) and -limit <= value < limit else None
    return float(value) if abs(value) < _MOST_REAL else None
