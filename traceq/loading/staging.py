"""Writing rows and notes into the staging area of a trace."""

from __future__ import annotations

import duckdb
import pyarrow as pa


def insert_staged(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert the rows into a table of the schema staging; columns are matched by name."""
    connection.register("_rows", rows)
    connection.execute(f"insert into staging.{table} by name from _rows")
    connection.unregister("_rows")


def add_note(connection: duckdb.DuckDBPyConnection, severity: str, code: str, count: int, text: str) -> None:
    """Insert a row into staging.import_note: a message about the trace for the user, with the number of things it is about."""
    note = {"severity": severity, "code": code, "count": count, "text": text}
    insert_staged(connection, "import_note", pa.Table.from_pylist([note]))
