"""The data dictionary: tables, views, macros and columns, and what the catalogue's comments say of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import duckdb
import msgspec

from traceq.errors import QueryError


class Column(msgspec.Struct, frozen=True):
    """A column with its SQL type and its meaning, as a comment; empty if the schema has none."""

    name: str
    type: str
    comment: str


class CatalogueTable(msgspec.Struct, frozen=True):
    """A table, view or macro (`kind`), a comment on what a row of it is, and its columns in order; empty for macros."""

    name: str
    kind: str
    comment: str
    columns: tuple[Column, ...]


def list_tables(connection: duckdb.DuckDBPyConnection) -> list[CatalogueTable]:
    """Return the public tables, then the public views, in order of creation; names with a leading _ are private.

    A view's column without a comment gets the comment of the column of that name in the tables that the view reads.
    """
    columns = _read_columns(connection)
    found = []
    for name, kind, comment, sql, _ in connection.execute(
        "select table_name, 'table', coalesce(comment, ''), '', table_oid as oid from duckdb_tables()"
        " where not internal and not starts_with(table_name, '_')"
        " union all"
        " select view_name, 'view', coalesce(comment, ''), sql, view_oid from duckdb_views()"
        " where not internal and not starts_with(view_name, '_')"
        " order by 2, oid"
    ).fetchall():
        inherited = {c.name: c.comment for read in reversed(_tables_read(sql)) for c in columns.get(read, ())}
        own = [Column(c.name, c.type, c.comment or inherited.get(c.name, "")) for c in columns[name]]
        found.append(CatalogueTable(name, kind, comment, tuple(own)))
    return found


def list_macros(connection: duckdb.DuckDBPyConnection) -> list[CatalogueTable]:
    """Return the public macros in order of creation; each comment begins with the macro's signature."""
    found = connection.execute(
        "select function_name, parameters, coalesce(comment, '') from duckdb_functions()"
        " where not internal and function_type in ('macro', 'table_macro') and not starts_with(function_name, '_')"
        " order by function_oid"
    ).fetchall()
    return [
        CatalogueTable(name, "macro", f"{name}({', '.join(parameters)}): {comment}", ())
        for name, parameters, comment in found
    ]


def list_all(connection: duckdb.DuckDBPyConnection) -> list[CatalogueTable]:
    """Return the public tables, then the views, then the macros of the database."""
    return [*list_tables(connection), *list_macros(connection)]


def find(known: Sequence[CatalogueTable], name: str) -> CatalogueTable:
    """Return the table of `known` called `name`, in upper or lower case.

    Raises QueryError, with similar names, if there is none.
    """
    by_name = {table.name: table for table in known}
    try:
        return by_name[name.lower()]
    except KeyError:
        close = difflib.get_close_matches(name.lower(), by_name, n=3, cutoff=0.5) or list(by_name)
        raise QueryError(f"no table or view is called {name!r}; did you mean: {', '.join(close)}?") from None


def empty_database() -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database in memory with all tables, views and macros, but no rows."""
    from traceq.database.connect import create_schema

    connection = duckdb.connect()
    create_schema(connection)
    return connection


def _read_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, list[Column]]:
    """Return the columns of each table and view in order, by its name, private ones included."""
    found: dict[str, list[Column]] = {}
    for table, name, kind, comment in connection.execute(
        "select table_name, column_name, data_type, coalesce(comment, '') from duckdb_columns()"
        " where not internal order by table_oid, column_index"
    ).fetchall():
        found.setdefault(table, []).append(Column(name, kind, comment))
    return found


def _tables_read(sql: str) -> list[str]:
    """Return the names behind `from` and `join` in the SQL text."""
    return re.findall(r'\b(?:from|join) \(*"?(\w+)', sql, re.IGNORECASE)
