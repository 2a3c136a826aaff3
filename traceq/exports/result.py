"""The result of a query as a file for other tools: a format is a function and a line in WRITERS."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec
import pyarrow as pa
from pyarrow import compute, csv, parquet

from traceq.common.text import CONTROLS, quiet_json, without_controls
from traceq.database.user_sql import query_error, run_interruptibly, too_long
from traceq.errors import QueryError

if TYPE_CHECKING:
    import duckdb
    from duckdb.sqltypes import DuckDBPyType


T = TypeVar("T")

_ROWS_PER_BATCH = 20_000

# How formulas begin, also for spreadsheets that read full-width signs; a number may begin so, too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - these are meant
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)
_ACTS = rf"^[\s\pZ]*[{re.escape(''.join(_FORMULA))}]|[{CONTROLS}]"

# What comes through Arrow to Python as it is, by DuckDB's names of types; of all else its own text is exact.
_KEYS = {"varchar", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
_EXACT = {*_KEYS, "hugeint", "decimal", "float", "double", "boolean", "blob", "uuid", "enum", "null"}
# Python has no infinite day, no year 0 or 10000 and no 24 o'clock; Parquet has, but no times in seconds.
_TIMES = {"date", "time", "time_ns", "timestamp", "timestamp_ms", "timestamp_ns"}
_EXACT_IN_PARQUET = {*_EXACT, *_TIMES, "timestamp with time zone", "timestamptz_ns"}
_NESTED = {"list", "array", "struct", "map", "tuple"}

# 2026-01-02 03:04:05+00 in ISO 8601; years before Christ and infinity, which it has not, stay.
_ISO = r"regexp_replace(regexp_replace({}, '^(\d\S*) (\d)', '\1T\2'), '^(\S+)[+]00$', '\1Z')"

_encode = msgspec.json.Encoder(decimal_format="number").encode


class Result(msgspec.Struct, frozen=True):
    """The result of a query: batches of rows of one schema, whose column names are unique.

    `width` is the terminal's in characters, None when there is none.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    width: int | None = None

    @property
    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers."""
        is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return [any(is_kind(kind) for is_kind in is_number) for kind in self.schema.types]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows as texts, with "NULL" for a missing value."""
        for batch in self.batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield tuple("NULL" if value is None else _text_of(value) for value in row)


def result_of(
    connection: duckdb.DuckDBPyConnection,
    relation: duckdb.DuckDBPyRelation,
    format_: str = "text",
    width: int | None = None,
    seconds: float | None = None,
) -> Result:
    """Start reading `relation` for a format; the batches must be read before the connection does anything else.

    Values that the format cannot hold, nested or not, become DuckDB's text of them. Raises QueryError where DuckDB
    takes longer than `seconds` in total; the time that the reader of the batches takes does not count.
    """
    columns = list(zip(relation.columns, relation.types, strict=True))
    if not all(_is_exact(kind, format_) for _, kind in columns):
        relation = relation.project(
            ", ".join(
                f"{_read(f'#{i}', kind, format_)} as {_quote_name(name)}" for i, (name, kind) in enumerate(columns, 1)
            )
        )
    left = _Left(connection, seconds, too_long("the query", seconds or 0.0))
    reader = left.run_within(lambda: relation.to_arrow_reader(_ROWS_PER_BATCH))
    schema = _with_unique_names(reader.schema)
    return Result(schema, _read_batches(left, reader, schema), width)


def bound_values(relation: duckdb.DuckDBPyRelation, rows: int, characters: int) -> duckdb.DuckDBPyRelation:
    """Return the first `rows` of the relation, texts and blobs cut to `characters` (or bytes) while DuckDB reads them.

    The result is an error where a nested value is a hundred times as long as text.
    """
    most = 100 * characters
    said = f"a value has more than {most} characters: take a part of it"

    def cut_value(column: str, kind: DuckDBPyType) -> str:
        if kind.id in ("varchar", "blob"):
            return f"{column}[1:{characters}]"
        return f"if(length({column} :: varchar) > {most}, error('{said}'), {column})" if kind.id in _NESTED else column

    kinds = zip(relation.columns, relation.types, strict=True)
    shown = ", ".join(f"{cut_value(f'#{i}', kind)} as {_quote_name(name)}" for i, (name, kind) in enumerate(kinds, 1))
    # cut before rows are collected
    return relation.project(shown).limit(rows)


def write_json(result: Result, file: BinaryIO) -> None:
    """Write the result as a JSON array of objects: integers and decimals exact, times in ISO 8601, NaN and infinities as null."""
    separator = b"[\n"
    for batch in result.batches:
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            file.write(separator + quiet_json(_encode(row).decode()).encode())
            separator = b",\n"
    file.write(b"[]\n" if separator == b"[\n" else b"\n]\n")


def read_records(result: Result, most: int) -> list[list[Any]]:
    """Return the first `most` rows as lists of values that JSON has: times in ISO 8601, NaN and infinities as None."""
    rows: list[list[Any]] = []
    for batch in result.batches:
        found = batch.slice(0, most - len(rows)).to_pylist(maps_as_pydicts="strict")
        rows += (msgspec.json.decode(_encode(list(row.values()))) for row in found)
        if len(rows) >= most:
            break
    return rows


def write_csv(result: Result, file: BinaryIO) -> None:
    """Write the result as comma-separated values, strings quoted, so that NULL (nothing) and the empty string ("") differ.

    Names in a trace are untrusted: text that a spreadsheet would take for a formula gets a quote before it, and
    characters that could steer a terminal are escaped. JSON and Parquet give the text unchanged.
    """
    flat = pa.schema([pa.field(_disarm_text(column.name), _flatten_type(column.type)) for column in result.schema])
    with csv.CSVWriter(file, flat) as writer:
        for batch in result.batches:
            columns = [_disarm(_flatten(column, kind)) for column, kind in zip(batch.columns, flat.types, strict=True)]
            writer.write_batch(pa.record_batch(columns, schema=flat))


def _disarm(column: pa.Array) -> pa.Array:
    """Return the column with harmless texts: see _disarm_text."""
    if not pa.types.is_string(column.type) or not compute.any(compute.match_substring_regex(column, _ACTS)).as_py():
        return column
    return pa.array([None if value is None else _disarm_text(value) for value in column.to_pylist()], pa.string())


def _disarm_text(text: str) -> str:
    """Return the text with a quote before it if a spreadsheet would take it for a formula, and control characters escaped."""
    # some programs leave out blanks before they look
    is_formula = text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA)
    quote = "'" if is_formula and not _NUMBER.fullmatch(text) else ""
    return quote + without_controls(text)


def write_parquet(result: Result, file: BinaryIO) -> None:
    """Write the result as a Parquet file with its types; raise QueryError for a type that this pyarrow cannot write."""
    try:
        with parquet.ParquetWriter(file, result.schema, compression="zstd") as writer:
            for batch in result.batches:
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError as error:
        message = f"pyarrow {pa.__version__} cannot write this to Parquet ({error}): update it, or write .csv or .json"
        raise QueryError(message) from error


WRITERS: dict[str, Callable[[Result, BinaryIO], None]] = {
    "csv": write_csv,
    "json": write_json,
    "parquet": write_parquet,
}


class _Left(msgspec.Struct):
    """The seconds that are left of a query's time limit; they shrink as parts of the query run. None for no limit."""

    connection: duckdb.DuckDBPyConnection
    seconds: float | None
    message: str

    def run_within(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, and subtract its duration from the remaining time.

        Raises QueryError when the time is over.
        """
        began = time.monotonic()
        try:
            return run_interruptibly(self.connection, work, self.seconds, self.message)
        finally:
            if self.seconds is not None:
                self.seconds -= time.monotonic() - began


def _read_batches(left: _Left, reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the reader, with the columns named as in `schema`; raise QueryError when the time is over."""
    while (batch := left.run_within(partial(_next, reader))) is not None:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return next(reader, None)
    except (OSError, pa.ArrowException) as error:  # which is how DuckDB's errors come through Arrow
        raise query_error(error) from error


def _with_unique_names(schema: pa.Schema) -> pa.Schema:
    """Return the schema with a number added to column names that occur before: JSON would merge such columns."""
    names: list[str] = []
    for name in schema.names:
        unique, number = name, 0
        while unique in names:
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def _read(column: str, kind: DuckDBPyType, format_: str) -> str:
    """Return the SQL expression that reads a column in a type that the format can hold."""
    if _is_exact(kind, format_):
        return column
    text = f"{column} :: {_readable_type(kind, format_)}"
    return _ISO.format(text) if format_ == "json" and kind.id.startswith("timestamp") else text


def _is_exact(kind: DuckDBPyType, format_: str) -> bool:
    """Return whether the format holds values of the type without conversion to text."""
    if kind.id not in _NESTED:
        return kind.id in (_EXACT_IN_PARQUET if format_ == "parquet" else _EXACT)
    parts = [part for _, part in kind.children if isinstance(part, type(kind))]
    # Objects of JSON have keys, and structs of Parquet fields.
    is_held = bool(parts) if format_ == "parquet" else kind.id != "map" or parts[0].id in _KEYS
    return is_held and all(_is_exact(part, format_) for part in parts)


def _readable_type(kind: DuckDBPyType, format_: str) -> str:
    """Return the SQL type to cast to: the same type, with varchar for each part that the format cannot hold."""
    if _is_exact(kind, format_):
        return str(kind)
    if kind.id not in _NESTED or kind.id == "tuple" or not kind.children:
        return "varchar"
    parts = {name: _readable_type(part, format_) for name, part in kind.children if isinstance(part, type(kind))}
    if kind.id == "struct":
        return f"struct({', '.join(f'{_quote_name(name)} {part}' for name, part in parts.items())})"
    if kind.id == "map":
        return f"map({parts['key'] if format_ == 'parquet' else 'varchar'}, {parts['value']})"
    return f"{parts['child']}[{dict(kind.children).get('size', '')}]"


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text_of(value: object) -> str:
    """Return a value that is not NULL as text: strings and numbers as they are, bytes in hexadecimal, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(value)
    return value.hex() if isinstance(value, bytes) else _encode(value).decode()


def _flatten_type(kind: pa.DataType) -> pa.DataType:
    simple = (
        pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    )
    return kind if simple else pa.string()


def _flatten(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    return pa.array([None if value is None else _text_of(value) for value in column.to_pylist()], pa.string())
