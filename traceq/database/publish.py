"""Putting finished traces in the user's database, all or nothing: built beside it, then renamed over it."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path

import duckdb

from traceq.common import signals
from traceq.common.limits import limits
from traceq.common.owner import PATTERN, owner_word
from traceq.common.scratch import remove_gone
from traceq.database import untrusted
from traceq.database.connect import connect, writer_config
from traceq.database.empty import create_database
from traceq.database.tables import columns_of_traces, stored_columns
from traceq.errors import StoreError

# Merging only copies; more make it no faster.
_MERGE_THREADS = 2


@contextmanager
def scratch_beside(database: Path) -> Iterator[Path]:
    """Yield a scratch folder beside `database`, removed after the block; also remove those of killed ingests.

    Raises StoreError if nothing can be written there.
    """
    if "?" in str(database):
        # What follows it is a query to DuckDB, which puts its log where nobody looks: a?b.duckdb, a.wal?b.duckdb.
        raise StoreError(
            f"{database}: DuckDB cannot write where the path has a question mark; choose another place with -o"
        )
    remove_gone(database.parent, re.compile(rf"\.{re.escape(database.name)}\.({PATTERN})\.(?:.*\.ingest|spill)"))
    scratch = database.parent / f".{database.name}.{owner_word()}.{secrets.token_hex(4)}.ingest"
    with signals.remove_on_signal(scratch):
        try:
            scratch.mkdir(mode=0o700)
        except OSError as error:
            raise StoreError(
                f"{database}: cannot write in {database.parent}: {error.strerror}; choose another place with -o"
            ) from error
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


Fingerprint = tuple[tuple[int, int, int] | None, ...]


def database_state(database: Path) -> Fingerprint:
    """Return a value that changes when the database or its write-ahead log is written, made or removed.

    Raises StoreError if the files are inaccessible.
    """
    try:
        return tuple(_file_state(path) for path in (database, log_of(database)))
    except OSError as error:
        raise StoreError(f"{database}: cannot be a database: {error.strerror}; choose another place with -o") from error


def log_of(database: Path) -> Path:
    """Return the path of DuckDB's write-ahead log of the database."""
    return database.with_name(f"{database.name}.wal")


def check_finished(database: Path) -> None:
    """Raise StoreError if the database has a write-ahead log, so that the file alone is not complete."""
    log = log_of(database)
    if log.exists():
        raise StoreError(
            f"{log}: unfinished changes that somebody else made to {database.name}; open it with duckdb to finish them,"
            " or delete this file to discard them"
        )


def _file_state(path: Path) -> tuple[int, int, int] | None:
    """Return the file's inode, size and modification time (ns); None if it does not exist."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def merge(parts: Sequence[Path], database: Path, scratch: Path, replaced: Sequence[int] = ()) -> Path:
    """Return a database file with the traces of `database` and of `parts`.

    Traces of `database` with ids in `replaced` are dropped. It is the only part itself, or a new file in the folder
    `scratch`.
    """
    finished = parts[0]
    if len(parts) > 1 or database.exists():
        finished = scratch / "merged.duckdb"
        if database.exists():
            shutil.copyfile(database, finished)
            shutil.copymode(database, finished)
        _merge(finished, parts, replaced)
    untrusted.mark_checked(finished, untrusted.fingerprint(finished))
    return finished


def publish(finished: Path, database: Path, before: Fingerprint) -> None:
    """Replace `database` by the file `finished` in one rename, so that readers see the old file or the new one.

    Raises StoreError when the database has changed since its fingerprint `before`, because others' changes would be
    lost.
    """
    if database.exists():
        # Fails while another process has it open to write.
        connect(database, older=True).close()
    if database_state(database) != before:
        raise StoreError(f"{database}: was changed by someone else meanwhile; nothing was written, try again")
    finished.replace(database)
    untrusted.mark_checked(database, untrusted.fingerprint(database))


def _merge(database: Path, parts: Sequence[Path], replaced: Sequence[int]) -> None:
    """Insert the traces of `parts` into the database, which is created if missing, and delete those in `replaced` from it."""
    if not database.exists():
        create_database(database)
    config = writer_config(limits().memory_bytes, database.parent, _MERGE_THREADS)
    with closing(duckdb.connect(str(database), config=config)) as connection:
        for number, part in enumerate(parts):
            connection.execute(f"attach '{str(part).replace(chr(39), chr(39) * 2)}' as part (read_only)")
            # Each commit waits for the disk.
            connection.begin()
            # Of a part, not of the database: there the user may have put tables of their own.
            tables = columns_of_traces(connection, "part")
            if number == 0:
                for table, trace_id in product(tables, replaced):
                    connection.execute(f"delete from {table} where trace_id = ?", [trace_id])
            for table, columns in tables.items():
                connection.execute(f"insert into {table} by name select {stored_columns(columns)} from part.{table}")
            connection.commit()
            connection.execute("detach part")
        connection.execute("checkpoint")
