"""An empty trace database: its schema takes a fifth of a second to work out, so it is kept in traceq's cache."""

from __future__ import annotations

import hashlib
from contextlib import closing
from functools import cache
from pathlib import Path

import duckdb

from traceq.common.cache_folder import cache_path, is_cache_wanted, is_own, partial_path, prepare_cache
from traceq.common.scratch import temporary_folder
from traceq.database import sql
from traceq.database.connect import SCHEMA, SCHEMA_VERSION, create_schema, is_database, writer_config

# In the cache. Not .duckdb, which traces become there.
_NAMES = "empty-*.db"

# Of the connection that creates the tables, bytes.
_MEMORY = 128 << 20


def create_database(path: Path) -> None:
    """Write an empty trace database, with all tables and views, to the file."""
    path.write_bytes(_empty_database())


@cache
def _empty_database() -> bytes:
    """Return the bytes of an empty trace database, from the cache if that is on."""
    return _cached_database() if is_cache_wanted() else _make_database()


def _cached_database() -> bytes:
    """Return the bytes of an empty trace database from the cache, adding it there if missing.

    A new one without a usable cache.
    """
    texts = [sql.statement(name) for name in SCHEMA]
    texts.append(sql.statement("database/comments.py"))
    key = hashlib.sha256("\0".join([duckdb.__version__, str(SCHEMA_VERSION), *texts]).encode()).hexdigest()
    kept = cache_path() / _NAMES.replace("*", key[:32])
    try:
        if is_own(kept) and is_database(kept):
            return kept.read_bytes()
        prepare_cache(kept.parent)
        with partial_path(kept) as part:
            part.write_bytes(_make_database())
            forget()
            part.replace(kept)
        return kept.read_bytes()
    except OSError:
        return _make_database()


def forget() -> None:
    """Remove all empty databases from the cache, also those of other versions of traceq."""
    for kept in cache_path().glob(_NAMES):
        kept.unlink(missing_ok=True)


def _make_database() -> bytes:
    """Return the bytes of a newly made empty trace database."""
    with temporary_folder() as folder:
        path = folder / "empty.duckdb"
        config = writer_config(_MEMORY, folder, threads=1)
        with closing(duckdb.connect(str(path), config=config)) as connection:
            create_schema(connection)
            connection.execute("checkpoint")
        return path.read_bytes()
