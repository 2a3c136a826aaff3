"""Writing rows and notes into the staging area of a trace."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from traceq.importers.rows import fit_column

_INTEGERS = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64()}


def insert_staged(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert the rows into a table of the schema staging; columns are matched by name."""
    connection.register("_rows", rows)
    connection.execute(f"insert into staging.{table} by name from _rows")
    connection.unregister("_rows")


def insert_fitting(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert the rows into a table of the schema staging; numbers that its columns cannot hold become NULL, with a note."""
    columns = connection.execute(
        "select column_name, data_type from duckdb_columns() where database_name = 'staging' and table_name = $table",
        {"table": table},
    ).fetchall()
    kinds = {name: _INTEGERS[kind] for name, kind in columns if kind in _INTEGERS}
    for position, field in enumerate(rows.schema):
        kind = kinds.get(field.name)
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        if kind is None or field.type == kind or not is_number:
            continue
        column = rows.column(position)
        try:
            fitting = column.cast(kind)
        except pa.ArrowInvalid:
            fitting, lost = fit_column(column.to_pylist(), kind)
            text = f"values of {table}.{field.name} that its column cannot hold are NULL"
            if lost:
                add_note(connection, "data_loss", "number_out_of_range", lost, text)
        rows = rows.set_column(position, field.name, fitting)
    insert_staged(connection, table, rows)


def add_note(connection: duckdb.DuckDBPyConnection, severity: str, code: str, count: int, text: str) -> None:
    """Insert a row into staging.import_note: a message about the trace for the user, with the number of things it is about."""
    note = {"severity": severity, "code": code, "count": count, "text": text}
    insert_staged(connection, "import_note", pa.Table.from_pylist([note]))
