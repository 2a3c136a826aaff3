"""Creating and opening trace databases, and checking that this version of traceq understands them."""

from __future__ import annotations

import os
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from traceq import sql
from traceq.errors import SchemaMismatch, StoreError

SCHEMA_VERSION = 4

# What DuckDB and the system raise for full disks, damaged files and too little memory; anything else is a fault of traceq.
FAILURES = (
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.FatalException,
    duckdb.TransactionException,
    duckdb.SerializationException,
    OSError,
)

_MAGIC_AT = 8
_MAGIC = b"DUCK"

# Every table ends in a block that is partly empty: with DuckDB's default of 256 KiB a small trace would be mostly that.
_BLOCK_BYTES = 64 << 10

# Of the connection that creates the tables, bytes.
_SCHEMA_MEMORY = 128 << 20

# In dependency order: a view over a missing table fails at once.
SCHEMA = (
    "schema.sql",
    "analyzers/schema/ledger.sql",
    "analyzers/schema/copy.sql",
    "analyzers/schema/data.sql",
    "analyzers/schema/memory.sql",
    "analyzers/schema/communication.sql",
    "analyzers/schema/kernel.sql",
    "analyzers/schema/replay.sql",
    "analyzers/schema/finding.sql",
    "analyzers/schema/judgement.sql",
    "views/views.sql",
    "views/marks.sql",
    "views/kernel_gpu_model.sql",
    "views/kernel.sql",
    "views/copy.sql",
    "views/data.sql",
    "views/communication.sql",
    "views/piece.sql",
)


def writer_config(memory: int, scratch: Path, threads: int) -> dict[str, str | bool | int | float | list[str]]:
    """Settings for a connection that writes a database: at most `memory` bytes, the rest spills into `scratch`."""
    return {
        "storage_compatibility_version": "latest",
        "default_block_size": str(_BLOCK_BYTES),
        "memory_limit": f"{memory >> 20}MiB",
        "temp_directory": str(scratch / "spill"),
        "threads": str(threads),
    }


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create every table and view of the contract, with their comments, in an empty database."""
    # One commit: each waits for the disk.
    connection.begin()
    for name in SCHEMA:
        sql.run(connection, name)
    connection.execute("insert into traceq_schema values (?)", [SCHEMA_VERSION])
    connection.commit()


def create_database(path: Path) -> None:
    """Write the file of an empty trace database; a process works the schema out once."""
    path.write_bytes(_empty_database())


@cache
def _empty_database() -> bytes:
    with TemporaryDirectory(prefix="traceq.") as folder:
        path = Path(folder) / "empty.duckdb"
        config = writer_config(_SCHEMA_MEMORY, Path(folder), threads=1)
        with closing(duckdb.connect(str(path), config=config)) as connection:
            create_schema(connection)
            connection.execute("checkpoint")
        return path.read_bytes()


def connect(path: str | Path, *, read_only: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a trace database.

    Raises StoreError when there is none or it cannot be read, SchemaMismatch when another version of traceq made it.
    """
    path = Path(path)
    _check_file(path)
    try:
        # Absolute, for DuckDB takes names like :memory: and md:x for something else than a file.
        connection = duckdb.connect(os.path.abspath(path), read_only=read_only)  # noqa: PTH100 - Path.absolute keeps ..
    except duckdb.Error as error:
        raise StoreError(f"{path}: cannot be opened as a DuckDB database: {one_line(error)}") from error
    try:
        check_schema(connection, path)
    except Exception:
        connection.close()
        raise
    return connection


def check_name(path: Path) -> None:
    """Raise unless DuckDB can be told the name: on Linux a name is any bytes, DuckDB's strings are text."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"{path}: DuckDB opens no file whose name is not UTF-8; choose another name") from error


def _check_file(path: Path) -> None:
    """Raise unless the file is DuckDB's. DuckDB itself would try to download an extension to open a SQLite file."""
    check_name(path)
    if path.is_dir():
        raise StoreError(f"{path}: is a directory, not a trace database; name a file in it")
    if not path.is_file():
        raise StoreError(f"{path}: no such trace database; make one with: traceq ingest SOURCE -o {path}")
    try:
        with path.open("rb") as file:
            head = file.read(_MAGIC_AT + len(_MAGIC))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    if head[_MAGIC_AT:] != _MAGIC:
        raise StoreError(f"{path}: no DuckDB database; name a trace database, or a new file to make one")


def check_schema(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise unless the database of `connection` has the schema of this version of traceq."""
    try:
        row = connection.execute("select version from traceq_schema").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise StoreError(f"{path}: a DuckDB database, but not one made by traceq ingest; name another file") from error
    except FAILURES as error:
        raise StoreError(f"{path}: cannot be read, is it damaged? {one_line(error)}") from error
    version = row[0] if row else None
    if version != SCHEMA_VERSION:
        way_out = (
            "upgrade traceq" if isinstance(version, int) and version > SCHEMA_VERSION else "ingest the traces again"
        )
        raise SchemaMismatch(
            f"{path}: has schema version {version}, this traceq understands version {SCHEMA_VERSION}; {way_out}"
        )


def one_line(error: BaseException) -> str:
    """The text of an error with every run of white space made one blank."""
    return " ".join(str(error).split())
