"""The tables of a trace database, as copies of it are made."""

from __future__ import annotations

from typing import NamedTuple

import duckdb
import pyarrow as pa


class StoredColumn(NamedTuple):
    """A column: its name, SQL type (`kind`), and whether it is computed from others of its row."""

    name: str
    kind: str
    is_generated: bool


def tables_of_traces(connection: duckdb.DuckDBPyConnection, database: str | None = None) -> list[str]:
    """Return the names of the tables that have a trace_id, in the attached `database` (by default the current one)."""
    rows = connection.execute(
        "select table_name from duckdb_columns()"
        " where database_name = coalesce($1, current_database()) and column_name = 'trace_id'"
        " and table_name in (select table_name from duckdb_tables() where database_name = coalesce($1, current_database()))"
        " order by table_name",
        [database],
    ).fetchall()
    return [name for (name,) in rows]


def columns_of_traces(connection: duckdb.DuckDBPyConnection, database: str) -> dict[str, list[StoredColumn]]:
    """Return the columns, in order, of each table that has a trace_id in the attached `database`, by name of the table.

    One look at all columns, where columns_of() takes one for each table.
    """
    wanted = tables_of_traces(connection, database)
    rows = connection.execute(
        "select table_name, column_name, data_type, is_generated from duckdb_columns()"
        " where database_name = $1 order by table_name, column_index",
        [database],
    ).fetchall()
    found: dict[str, list[StoredColumn]] = {table: [] for table in wanted}
    for table, *column in rows:
        if table in found:
            found[table].append(StoredColumn(*column))
    return found


def columns_of(connection: duckdb.DuckDBPyConnection, table: str, database: str | None = None) -> list[StoredColumn]:
    """Return the columns of a table in order, in the attached `database` (by default the current one)."""
    rows = connection.execute(
        "select column_name, data_type, is_generated from duckdb_columns()"
        " where database_name in (coalesce($2, current_database()), if($2 is null, 'temp', $2)) and table_name = $1"
        " order by column_index",
        [table, database],
    ).fetchall()
    return [StoredColumn(*row) for row in rows]


def stored_columns(columns: list[StoredColumn]) -> str:
    """Return the names of the columns that are not computed, quoted and comma-separated, for a select."""
    return ", ".join(f'"{column.name}"' for column in columns if not column.is_generated)


def insert_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert Arrow rows into the table by column name; columns that the rows lack become NULL.

    Inserting through a Python variable fails in databases without external access, and registered data would stay in
    memory until the transaction ends.
    """
    # Takes a tenth of the time of columns_of(), which looks at all tables. No column has a default: what has one is generated.
    described = connection.execute(
        "select name from pragma_table_info($1) where dflt_value is null", [table]
    ).fetchall()
    listed = (f'"{name}"' if name in rows.column_names else f'null as "{name}"' for (name,) in described)
    connection.from_arrow(rows).project(", ".join(listed)).insert_into(table)
