"""The result of a query as a file for other tools: a format is a function and a line in WRITERS."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec
import pyarrow as pa
from pyarrow import compute, csv, parquet

from traceq.database.user_sql import interruptible, query_error, too_long

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

_ROWS_PER_BATCH = 20_000

# How formulas begin; a number may begin so, too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)
_ACTS = r"^[=+\-@\t\r]"

# No faithful counterpart in Arrow's writers; their text is exact.
_AS_TEXT = {"INTERVAL", "BIT"}


@dataclass(frozen=True)
class Result:
    """Batches of rows of one schema, its names unique; `width` of the terminal, None when there is none."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    width: int | None = None

    @property
    def numeric(self) -> list[bool]:
        """For each column whether it holds numbers."""
        is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return [any(each(kind) for each in is_number) for kind in self.schema.types]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The rows as text, NULL for what is missing."""
        for batch in self.batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield tuple("NULL" if value is None else _text_of(value) for value in row)


def result_of(
    connection: duckdb.DuckDBPyConnection,
    relation: duckdb.DuckDBPyRelation,
    width: int | None = None,
    seconds: float | None = None,
) -> Result:
    """Start reading `relation`; the batches must be read before the connection does anything else.

    Raises QueryError where DuckDB takes longer than `seconds` for all of it; how long its reader takes does not count.
    """
    as_text = [str(kind) in _AS_TEXT for kind in relation.types]
    if any(as_text):
        relation = relation.project(
            ", ".join(
                f"#{i} :: varchar as {_quoted(name)}" if text else f"#{i}"
                for i, (name, text) in enumerate(zip(relation.columns, as_text, strict=True), 1)
            )
        )
    left = _Left(connection, seconds, too_long("the query", seconds or 0.0))
    reader = left.spent_on(lambda: relation.to_arrow_reader(_ROWS_PER_BATCH))
    schema = _with_unique_names(reader.schema)
    return Result(schema, _batches(left, reader, schema), width)


def write_json(result: Result, file: BinaryIO) -> None:
    """An array of objects: integers and decimals exact, times in ISO 8601, NaN and infinities as null."""
    encode = msgspec.json.Encoder(decimal_format="number", enc_hook=_to_json).encode
    separator = b"[\n"
    for batch in result.batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            file.write(separator + encode(row))
            separator = b",\n"
    file.write(b"[]\n" if separator == b"[\n" else b"\n]\n")


def records(result: Result, most: int) -> list[list[Any]]:
    """The first rows as JSON has them: numbers and texts, times in ISO 8601, NaN and infinities as None."""
    rows: list[list[Any]] = []
    encode = msgspec.json.Encoder(decimal_format="number", enc_hook=_to_json).encode
    for batch in result.batches:
        found = batch.slice(0, most - len(rows)).to_pylist(maps_as_pydicts="strict")
        rows += (msgspec.json.decode(encode(list(row.values()))) for row in found)
        if len(rows) >= most:
            break
    return rows


def write_csv(result: Result, file: BinaryIO) -> None:
    """Comma-separated values, strings quoted, so that NULL (nothing) and the empty string ("") differ.

    Text that a spreadsheet would take for a formula gets a quote before it: names of a trace are anybody's. JSON and Parquet
    have it as it is.
    """
    flat = pa.schema([pa.field(each.name, _flat_type(each.type)) for each in result.schema])
    with csv.CSVWriter(file, flat) as writer:
        for batch in result.batches:
            columns = [_inert(_flat(column, kind)) for column, kind in zip(batch.columns, flat.types, strict=True)]
            writer.write_batch(pa.record_batch(columns, schema=flat))


def _inert(column: pa.Array) -> pa.Array:
    if not pa.types.is_string(column.type) or not compute.any(compute.match_substring_regex(column, _ACTS)).as_py():
        return column
    return pa.array([None if value is None else _inert_text(value) for value in column.to_pylist()], pa.string())


def _inert_text(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def write_parquet(result: Result, file: BinaryIO) -> None:
    """A Parquet file with the types of the result."""
    with parquet.ParquetWriter(file, result.schema, compression="zstd") as writer:
        for batch in result.batches:
            writer.write_batch(batch)


WRITERS: dict[str, Callable[[Result, BinaryIO], None]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}


@dataclass
class _Left:
    """The time that is left for a query, None for no limit."""

    connection: duckdb.DuckDBPyConnection
    seconds: float | None
    message: str

    def spent_on(self, work: Callable[[], T]) -> T:
        """What `work` returns, and less time left."""
        began = time.monotonic()
        try:
            return interruptible(self.connection, work, self.seconds, self.message)
        finally:
            if self.seconds is not None:
                self.seconds -= time.monotonic() - began


def _batches(left: _Left, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while (batch := left.spent_on(partial(_next, reader))) is not None:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return next(reader, None)
    except (OSError, pa.ArrowException) as error:  # which is how DuckDB's errors come through Arrow
        raise query_error(error) from error


def _with_unique_names(schema: pa.Schema) -> pa.Schema:
    """Two columns of one name would be one in JSON, and unreadable in Parquet."""
    names: list[str] = []
    for name in schema.names:
        unique, number = name, 0
        while unique in names:
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text_of(value: object) -> str:
    """A value that is not NULL as text: strings and numbers as they are, the rest as JSON, unquoted."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return msgspec.json.encode(value, enc_hook=_to_json).decode().strip('"')


def _to_json(value: object) -> object:
    """What msgspec does not know: pandas' Timestamp and Timedelta, which carry nanoseconds."""
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if isoformat is not None else str(value)


def _flat_type(kind: pa.DataType) -> pa.DataType:
    simple = (
        pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    )
    return kind if simple else pa.string()


def _flat(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    return pa.array([None if value is None else _text_of(value) for value in column.to_pylist()], pa.string())
