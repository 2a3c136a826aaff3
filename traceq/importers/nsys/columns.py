"""Arrow columns made from nsys' integers: times, narrow integers, constants, JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from traceq.importers.rows import Notes

# 36 years in ns: no session lasts that long, and sums of such times cannot overflow 64 bits.
TIME_LIMIT = 1 << 60
_INT32_MAX = (1 << 31) - 1


def decode_enum(codes: pa.Array, labels: Mapping[int, str], other: str | None = None) -> pa.DictionaryArray:
    """Return the words of enum numbers; NULL, and numbers without a word in `labels`, become `other` (NULL if None)."""
    indices = pc.index_in(codes, value_set=pa.array(list(labels), pa.int64()))
    if other is None:
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(labels.values())))
    return pa.DictionaryArray.from_arrays(pc.fill_null(indices, len(labels)), pa.array([*labels.values(), other]))


def null_if(column: pa.Array, *values: int) -> pa.Array:
    """Return the column with NULL for each of these values, which stand for "none" in the file."""
    drop = pc.is_in(column, value_set=pa.array(values, pa.int64()))
    if not pc.any(drop).as_py():
        return column
    return pc.if_else(drop, pa.scalar(None, pa.int64()), column)


def null_out_of_range(column: pa.Array, low: int, high: int, what: str, notes: Notes) -> pa.Array:
    """Return the column with NULL for values outside low..high, which cannot be true; a data-loss note counts them.

    `what` names the column in the note.
    """
    bounds = pc.min_max(column)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least is None or (least >= low and most <= high):
        return column
    good = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    notes.data_loss(
        "value_out_of_range",
        column.drop_null().__len__() - (pc.sum(good).as_py() or 0),
        f"Values of {what} that no GPU or clock can have; they are NULL.",
    )
    return pc.if_else(good, column, pa.scalar(None, column.type))


def to_int32(column: pa.Array, what: str, notes: Notes) -> pa.Array:
    """Return the column as 32-bit integers; values that do not fit become NULL and are counted in a note on `what`."""
    return null_out_of_range(column, -_INT32_MAX, _INT32_MAX, what, notes).cast(pa.int32())


def null_negative(column: pa.Array, what: str, notes: Notes) -> pa.Array:
    """Return the column with NULL for negative values; a note about `what` counts them."""
    return null_out_of_range(column, 0, (1 << 63) - 1, what, notes)


def drop_unusable_times(batch: pa.RecordBatch, column: str, table: str, notes: Notes) -> pa.RecordBatch:
    """Return the batch without the rows whose time in `column` is NULL or absurd (36 years off); a note counts them."""
    starts = batch.column(column)
    bounds = pc.min_max(starts)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if starts.null_count == 0 and least is not None and least >= -TIME_LIMIT and most <= TIME_LIMIT:
        return batch
    good = pc.and_(pc.greater_equal(starts, -TIME_LIMIT), pc.less_equal(starts, TIME_LIMIT)).fill_null(False)
    notes.data_loss(
        "no_start_time",
        batch.num_rows - (pc.sum(good).as_py() or 0),
        f"Rows of {table} without a usable start time; they are left out.",
    )
    return batch.filter(good)


def compute_durations(starts: pa.Array, ends: pa.Array, table: str, notes: Notes) -> pa.Array:
    """Return ends minus starts in ns; 0 where the end is missing, absurd or before the start, each counted in a note.

    `table` names the rows in the notes.
    """
    ends = null_out_of_range(ends, -TIME_LIMIT, TIME_LIMIT, "end", notes)
    notes.data_loss("no_end_time", ends.null_count, f"Rows of {table} without an end; their duration is 0.")
    lengths = pc.subtract(ends, starts).fill_null(0)
    least = pc.min(lengths).as_py()
    if least is None or least >= 0:
        return lengths
    negative = pc.less(lengths, 0)
    notes.info(
        "negative_duration",
        pc.sum(negative).as_py() or 0,
        f"Rows of {table} that end before they start; their duration is 0.",
    )
    return pc.if_else(negative, pa.scalar(0, pa.int64()), lengths)


def build_json_objects(members: Mapping[str, pa.Array]) -> pa.Array | None:
    """Return a column with a JSON object per row, with a member per column of `members`: numbers or JSON text.

    A NULL leaves its member out; a row without members is NULL; None is returned when no row has any.
    """
    present = {key: column for key, column in members.items() if column.null_count < len(column)}
    if not present:
        return None
    if len(present) == 1:
        # Mostly a domain or a device: the same few values over and over.
        ((key, column),) = present.items()
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices, _join_members({key: encoded.dictionary}))
    return _join_members(present)


def _join_members(members: Mapping[str, pa.Array]) -> pa.Array:
    """Return a JSON object per row (text), NULL for a row whose members are all NULL."""
    # (pyarrow's null_handling="skip" loses rows whose parts are all NULL, so each part is '' instead.)
    pieces = [
        pc.fill_null(pc.binary_join_element_wise(f',"{key}":', column.cast(pa.string()), ""), "")
        for key, column in members.items()
    ]
    joined = pc.binary_join_element_wise(*pieces, "")
    objects = pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 1), "}", "")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), objects)


def map_rows(find: Callable[[Any], str | None], *columns: pa.Array) -> pa.DictionaryArray:
    """Return a text column: `find` of each row's tuple of numbers, called once per distinct tuple; None becomes NULL.

    NULL in a column counts as the number 0.
    """
    parts = [column.fill_null(0).dictionary_encode() for column in columns]
    code = parts[0].indices.cast(pa.int64())
    for part in parts[1:]:
        code = pc.add(pc.multiply(code, len(part.dictionary)), part.indices)
    codes = code.dictionary_encode()
    found = pa.array([find(_unpack_code(one, parts)) for one in codes.dictionary.to_pylist()], pa.string())
    texts = found.dictionary_encode()
    return pa.DictionaryArray.from_arrays(texts.indices.take(codes.indices), texts.dictionary)


def _unpack_code(code: int, parts: list[pa.DictionaryArray]) -> tuple[int, ...]:
    """Return a row's numbers, one per column, from the code that `map_rows` made of their dictionary positions."""
    numbers: list[int] = []
    for part in reversed(parts):
        code, index = divmod(code, len(part.dictionary))
        numbers.append(part.dictionary[index].as_py())
    return tuple(reversed(numbers))
