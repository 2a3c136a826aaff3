"""Putting finished traces in the user's database, all or nothing: built beside it, then renamed over it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from traceq.errors import StoreError
from traceq.store.database import create_schema

_STALE_SECONDS = 3600


@contextmanager
def scratch_beside(database: Path) -> Iterator[Path]:
    """A scratch directory on the file system of `database`, removed in the end; those of killed ingests go as well."""
    _remove_stale(database)
    try:
        scratch = tempfile.mkdtemp(prefix=f".{database.name}.{os.getpid()}.", suffix=".ingest", dir=database.parent)
    except OSError as error:
        raise StoreError(
            f"{database}: cannot write in {database.parent}: {error.strerror}; choose another place with -o"
        ) from error
    try:
        yield Path(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_stale(database: Path) -> None:
    pattern = re.compile(rf"\.{re.escape(database.name)}\.(\d+)\..*\.ingest")
    for path in database.parent.glob(f".{glob_escape(database.name)}.*.ingest"):
        match = pattern.fullmatch(path.name)
        if match and not _is_running(int(match[1])) and time.time() - path.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def glob_escape(name: str) -> str:
    """`name` as a glob pattern that matches itself only."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def publish(parts: Sequence[Path], database: Path, scratch: Path, replaced: Sequence[int] = ()) -> None:
    """Make `database` hold what it held before and the traces of `parts`, without those numbered in `replaced`.

    Readers see the old file or the new one, never something between.
    """
    if len(parts) == 1 and not database.exists():
        finished = parts[0]
    else:
        finished = scratch / "merged.duckdb"
        before = _fingerprint(database)
        if before is not None:
            shutil.copyfile(database, finished)
        _merge(finished, parts, replaced)
        if _fingerprint(database) != before:
            raise StoreError(
                f"{database}: was changed by someone else during the ingest; nothing was written, try again"
            )
    finished.replace(database)


def _fingerprint(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _merge(database: Path, parts: Sequence[Path], replaced: Sequence[int]) -> None:
    new = not database.exists()
    with closing(duckdb.connect(str(database), config={"storage_compatibility_version": "latest"})) as connection:
        if new:
            create_schema(connection)
        tables = [
            name
            for (name,) in connection.execute(
                "select table_name from duckdb_columns()"
                " where column_name = 'trace_id' and table_name in (select table_name from duckdb_tables())"
                " order by table_name"
            ).fetchall()
        ]
        for trace_id in replaced:
            for table in tables:
                connection.execute(f"delete from {table} where trace_id = ?", [trace_id])
        for part in parts:
            connection.execute(f"attach '{str(part).replace(chr(39), chr(39) * 2)}' as part (read_only)")
            for table in tables:
                # all columns but the generated one
                connection.execute(f"insert into {table} by name select columns(lambda name: name <> 'ts_end') from part.{table}")
            connection.execute("detach part")
        connection.execute("checkpoint")
