"""Databases of older versions of traceq, brought to the schema of this version."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import duckdb

from traceq.common.limits import limits
from traceq.database import sql
from traceq.database.connect import (
    MIGRATIONS,
    SCHEMA_VERSION,
    connect,
    create_schema,
    writer_config,
)
from traceq.database.failures import one_line, way_out
from traceq.database.publish import check_finished, database_state, publish, scratch_beside
from traceq.errors import StoreError

# Columns are changed one at a time; more make it no faster.
_THREADS = 2


def upgrade(database: Path, output: Path | None = None) -> int:
    """Upgrade the database to this schema version, in place or into the new file `output`, and return its old version.

    Readers see the old database or the new one. Nothing is written if it is of this version already and there is no
    `output`. Raises StoreError when a file cannot be read or written, SchemaMismatch when its version cannot be
    upgraded.
    """
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(output or database))
    before = database_state(target)
    if output is not None and before != (None, None):
        raise StoreError(f"{output}: already exists; choose another name with -o")
    check_finished(database)
    with closing(connect(database, older=True)) as connection:
        version = version_of(connection)
    if version == SCHEMA_VERSION and output is None:
        return version
    try:
        with scratch_beside(target) as scratch:
            copy = scratch / "upgraded.duckdb"
            shutil.copyfile(database, copy)
            shutil.copymode(database, copy)
            config = writer_config(limits().memory_bytes, scratch, _THREADS)
            with closing(duckdb.connect(str(copy), config=config)) as connection:
                migrate(connection)
                connection.execute("checkpoint")
            publish(copy, target, before)
    except (duckdb.Error, OSError) as error:
        raise StoreError(f"{target}: upgrade failed, nothing was written: {one_line(error)}{way_out(error)}") from error
    return version


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Run the migrations from the database's version up to this one, then create what is missing."""
    for version in range(version_of(connection), SCHEMA_VERSION):
        sql.run(connection, MIGRATIONS[version])
    create_schema(connection)


def version_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the version of the open database's schema."""
    return int(connection.execute("from traceq_schema").fetchall()[0][0])
