"""Writing rows and notes into the staging area of a trace."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.rows import fit_column

_NUMBERS = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "DOUBLE": pa.float64()
}  # fmt: skip


def insert_staged(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert the rows into a table of the schema staging; columns are matched by name."""
    connection.register("_rows", rows)
    connection.execute(f"insert into staging.{table} by name from _rows")
    connection.unregister("_rows")


def insert_fitting(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert the rows into a table of the schema staging; what its columns of numbers cannot hold becomes NULL, with a note.

    Fractions become the nearest integer.
    """
    columns = connection.execute(
        "select column_name, data_type from duckdb_columns() where database_name = 'staging' and table_name = $table",
        {"table": table},
    ).fetchall()
    kinds = {name: _NUMBERS[kind] for name, kind in columns if kind in _NUMBERS}
    for position, field in enumerate(rows.schema):
        kind = kinds.get(field.name)
        if kind in (None, field.type) or pa.types.is_null(field.type):
            continue
        fitting, lost = _cast_numbers(rows.column(position), kind)
        if lost:
            text = f"values of {table}.{field.name} that its column cannot hold are NULL"
            add_note(connection, "data_loss", "number_out_of_range", lost, text)
        rows = rows.set_column(position, field.name, fitting)
    insert_staged(connection, table, rows)


def _cast_numbers(column: pa.ChunkedArray, kind: pa.DataType) -> tuple[pa.Array | pa.ChunkedArray, int]:
    """Return the column as numbers of this kind, and how many values are none: these are NULL."""
    is_floating = pa.types.is_floating(column.type)
    if is_floating and pa.types.is_integer(kind):
        column = pc.round(column)
    try:
        if is_floating or pa.types.is_integer(column.type):
            return column.cast(kind, safe=pa.types.is_integer(kind)), 0
    except pa.ArrowInvalid:
        pass
    return fit_column(column.to_pylist(), kind)


def add_note(connection: duckdb.DuckDBPyConnection, severity: str, code: str, count: int, text: str) -> None:
    """Insert a row into staging.import_note: a message about the trace for the user, with the number of things it is about."""
    note = {"severity": severity, "code": code, "count": count, "text": text}
    insert_staged(connection, "import_note", pa.Table.from_pylist([note]))
