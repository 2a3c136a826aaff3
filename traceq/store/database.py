"""Creating and opening trace databases, and checking that this version of traceq understands them."""

from __future__ import annotations

from pathlib import Path

import duckdb

from traceq import sql
from traceq.errors import SchemaMismatch, StoreError

SCHEMA_VERSION = 1

# In dependency order: a view over a missing table fails at once.
SCHEMA = ("schema.sql", "analyzers/schema.sql", "views/views.sql")


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create every table and view of the contract, with their comments, in an empty database."""
    for name in SCHEMA:
        sql.run(connection, name)
    connection.execute("insert into traceq_schema values (?)", [SCHEMA_VERSION])


def connect(path: str | Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a trace database.

    Raises StoreError when there is none or it cannot be read, SchemaMismatch when another version of traceq made it.
    """
    path = Path(path)
    if not path.is_file():
        raise StoreError(f"{path}: no such trace database; make one with: traceq ingest SOURCE -o {path}")
    try:
        connection = duckdb.connect(str(path), read_only=read_only)
    except duckdb.Error as error:
        raise StoreError(f"{path}: cannot be opened as a DuckDB database: {one_line(error)}") from error
    try:
        check_schema(connection, path)
    except Exception:
        connection.close()
        raise
    return connection


def check_schema(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise unless the database of `connection` has the schema of this version of traceq."""
    try:
        row = connection.execute("select version from traceq_schema").fetchone()
    except duckdb.CatalogException as error:
        raise StoreError(f"{path}: a DuckDB database, but not one made by traceq ingest") from error
    version = row[0] if row else None
    if version != SCHEMA_VERSION:
        way_out = "upgrade traceq" if version and version > SCHEMA_VERSION else "ingest the traces again"
        raise SchemaMismatch(
            f"{path}: has schema version {version}, this traceq understands version {SCHEMA_VERSION}; {way_out}"
        )


def one_line(error: BaseException) -> str:
    """The text of an error with every run of white space made one blank."""
    return " ".join(str(error).split())
