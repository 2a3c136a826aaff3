"""The result of a query in the formats of `traceq sql`: a format is a function and a line in FORMATS."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import duckdb
import msgspec
import pyarrow as pa
from pyarrow import csv, parquet

from traceq.cli.grid import Grid, write_markdown, write_plain
from traceq.printable import printable
from traceq.queries import interruptible, query_error

_ROWS_PER_BATCH = 20_000

# No faithful counterpart in Arrow's writers; their text is exact.
_AS_TEXT = {"INTERVAL", "BIT"}


@dataclass(frozen=True)
class Result:
    """Batches of rows of one schema, its names unique; `width` of the terminal, None when there is none."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    width: int | None = None


def result_of(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation, width: int | None = None
) -> Result:
    """Start reading `relation`; the batches must be read before the connection does anything else."""
    as_text = [str(kind) in _AS_TEXT for kind in relation.types]
    if any(as_text):
        relation = relation.project(
            ", ".join(
                f"#{i} :: varchar as {_quoted(name)}" if text else f"#{i}"
                for i, (name, text) in enumerate(zip(relation.columns, as_text, strict=True), 1)
            )
        )
    reader = interruptible(connection, lambda: relation.to_arrow_reader(_ROWS_PER_BATCH))
    schema = _with_unique_names(reader.schema)
    return Result(schema, _batches(connection, reader, schema), width)


def write_json(result: Result, file: BinaryIO) -> None:
    """An array of objects: integers and decimals exact, times in ISO 8601, NaN and infinities as null."""
    encode = msgspec.json.Encoder(decimal_format="number", enc_hook=_to_json).encode
    separator = b"[\n"
    for batch in result.batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            file.write(separator + encode(row))
            separator = b",\n"
    file.write(b"[]\n" if separator == b"[\n" else b"\n]\n")


def write_csv(result: Result, file: BinaryIO) -> None:
    """Comma-separated values, strings quoted, so that NULL (nothing) and the empty string ("") differ."""
    flat = pa.schema([pa.field(each.name, _flat_type(each.type)) for each in result.schema])
    with csv.CSVWriter(file, flat) as writer:
        for batch in result.batches:
            columns = [_flat(column, kind) for column, kind in zip(batch.columns, flat.types, strict=True)]
            writer.write_batch(pa.record_batch(columns, schema=flat))


def write_parquet(result: Result, file: BinaryIO) -> None:
    """A Parquet file with the types of the result."""
    with parquet.ParquetWriter(file, result.schema, compression="zstd") as writer:
        for batch in result.batches:
            writer.write_batch(batch)


def write_table(result: Result, file: BinaryIO) -> None:
    """Aligned columns for a person to read."""
    if result.schema.names == ["explain_key", "explain_value"]:
        _write_plan(result, file)
    else:
        write_plain(_grid(result), file, result.width)


def write_md(result: Result, file: BinaryIO) -> None:
    """A Markdown table."""
    write_markdown(_grid(result), file)


FORMATS: dict[str, Callable[[Result, BinaryIO], None]] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
    "md": write_md,
}


def _batches(
    connection: duckdb.DuckDBPyConnection, reader: pa.RecordBatchReader, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    while (batch := interruptible(connection, partial(_next, reader))) is not None:
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


def _grid(result: Result) -> Grid:
    """The whole result as text."""
    numeric = [pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in result.schema.types]
    rows = [
        tuple(_cell(value) for value in row)
        for batch in result.batches
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]
    return Grid(tuple(result.schema.names), rows, tuple(numeric))


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else _text(value)


def _text(value: object) -> str:
    """A value that is neither NULL nor a number, as text: strings as they are, the rest as JSON, unquoted."""
    if isinstance(value, str):
        return value
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
    return pa.array([None if value is None else _text(value) for value in column.to_pylist()], pa.string())


def _write_plan(result: Result, file: BinaryIO) -> None:
    """A query plan is a drawing of many lines."""
    for batch in result.batches:
        for plan in batch.column("explain_value").to_pylist():
            file.writelines(f"{printable(line)}\n".encode() for line in plan.splitlines())
