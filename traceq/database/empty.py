"""An empty trace database: creating its schema takes 0.4 s of CPU, so traceq ships one, or keeps one in its cache."""

from __future__ import annotations

import hashlib
import zlib
from contextlib import closing
from functools import cache
from pathlib import Path

import duckdb

from traceq.common.cache_folder import cache_path, is_cache_wanted, is_own, partial_path, prepare_cache
from traceq.common.scratch import temporary_folder
from traceq.database import sql
from traceq.database.connect import SCHEMA, SCHEMA_VERSION, create_schema, is_database, writer_config

# The key of the schema and of DuckDB, and after it the compressed bytes; see tests/database/test_empty.py.
SHIPPED = "database/empty.zz"
_KEY_LENGTH = 32

# In the cache. Not .duckdb, which traces become there.
_NAMES = "empty-*.db"

# Of the connection that creates the tables, bytes.
_MEMORY = 128 << 20


def create_database(path: Path) -> None:
    """Write an empty trace database, with all tables and views, to the file."""
    path.write_bytes(_empty_database())


@cache
def _empty_database() -> bytes:
    """Return the bytes of an empty trace database: shipped with traceq for one version of DuckDB, else from the cache."""
    shipped, key = sql.package().joinpath(SHIPPED).read_bytes(), schema_key()
    if shipped.startswith(key.encode()):
        return zlib.decompress(shipped[_KEY_LENGTH:])
    return _cached_database(key) if is_cache_wanted() else make_database()


def schema_key() -> str:
    """Return a hash that changes with the schema, the settings of its storage and the version of DuckDB."""
    settings = sorted(writer_config(_MEMORY, Path(), threads=1).items())
    parts = [duckdb.__version__, str(SCHEMA_VERSION), str(settings)]
    parts += map(sql.statement, (*SCHEMA, "database/comments.py"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_KEY_LENGTH]


def _cached_database(key: str) -> bytes:
    """Return the bytes of an empty trace database from the cache, adding it there if missing.

    A new one without a usable cache.
    """
    kept = cache_path() / _NAMES.replace("*", key)
    try:
        if is_own(kept) and is_database(kept):
            return kept.read_bytes()
        prepare_cache(kept.parent)
        with partial_path(kept) as part:
            part.write_bytes(make_database())
            forget()
            part.replace(kept)
        return kept.read_bytes()
    except OSError:
        return make_database()


def forget() -> None:
    """Remove all empty databases from the cache, also those of other versions of traceq."""
    for kept in cache_path().glob(_NAMES):
        kept.unlink(missing_ok=True)


def make_database() -> bytes:
    """Return the bytes of a newly made empty trace database."""
    with temporary_folder() as folder:
        path = folder / "empty.duckdb"
        config = writer_config(_MEMORY, folder, threads=1)
        with closing(duckdb.connect(str(path), config=config)) as connection:
            create_schema(connection)
            connection.execute("checkpoint")
        return path.read_bytes()
