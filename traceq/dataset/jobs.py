"""The cross-rank stage of one window: what is true of its ranks together, from what the pieces tell of communication."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from datetime import UTC, datetime

import duckdb
import msgspec

from traceq.analysis.job.job import fill_jobs
from traceq.common.child import SpawnedProcesses
from traceq.common.limits import Limits, limits, within
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect
from traceq.dataset.catalogue import JOB_TABLES, create_catalogue, explain_damage
from traceq.dataset.job_summary import NAME as TOLD
from traceq.dataset.job_summary import summarize_jobs
from traceq.dataset.manifest import Manifest, Piece, Window, digest_of
from traceq.dataset.piece import copy_table
from traceq.dataset.place import Place
from traceq.errors import StoreError

# The arrays of more ranks are made in a process of its own: this one may have to wait for workers of a cluster for hours.
_MOST_HERE = 64


def fill_window(place: Place, manifest: Manifest, pieces: Sequence[Piece], window: Window) -> Window:
    """Write the tables of the window's job into its folder, made of `pieces`; the window with what it holds."""
    if len(pieces) <= _MOST_HERE:
        return _fill_here(place, manifest, pieces, window)
    with ProcessPoolExecutor(1, SpawnedProcesses()) as process:
        try:
            return process.submit(_fill_within_limits, limits().memory, place, manifest, pieces, window).result()
        except BrokenProcessPool as error:
            raise StoreError(
                f"{place.name}: what works out the job of {len(pieces)} ranks was killed, for want of memory?"
                " Its pieces are kept: ingest again with a lower --memory-limit"
            ) from error


def _fill_within_limits(
    memory: int | None, place: Place, manifest: Manifest, pieces: Sequence[Piece], window: Window
) -> Window:
    """Fill the window in another process, which knows no limits of the command."""
    with within(Limits(memory)):
        return _fill_here(place, manifest, pieces, window)


def _fill_here(place: Place, manifest: Manifest, pieces: Sequence[Piece], window: Window) -> Window:
    bare = msgspec.structs.replace(manifest, windows=())
    with temporary_folder() as scratch:
        catalogue, files = scratch / "catalogue.duckdb", scratch / "files"
        files.mkdir()
        create_catalogue(catalogue, place, bare, pieces)
        with explain_damage(place), closing(connect(catalogue, read_only=False, writes=files)) as connection:
            with _join_one_run(connection, window.run):
                fill_jobs(connection)
            tables = []
            for table in JOB_TABLES:
                # a table of millions of rows is not written again for the numbers that it has
                connection.execute(
                    f"update {table} set job = $1, time_window = $2 where job <> $1 or time_window <> $2",
                    [window.job, window.window],
                )
                if connection.execute(f"from {table} limit 1").fetchall():
                    copy_table(connection, table, files)
                    tables.append(table)
            # what reports read of all ranks, beside the tables of their job
            copy_table(connection, "trace", files)
            (files / TOLD).write_bytes(msgspec.json.encode(summarize_jobs(connection)))
        place.remove(window.folder)
        place.put(files, window.folder)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.structs.replace(window, tables=tuple(tables), made_of=digest_of(pieces), made_at=now)


@contextmanager
def _join_one_run(connection: duckdb.DuckDBPyConnection, run: str) -> Iterator[None]:
    """Lets traces that were added to a run which --run had not named, and those before, be of one job."""
    (is_mixed,) = connection.execute("select count(run) between 1 and count(*) - 1 from trace").fetchall()[0]
    if not is_mixed:
        yield
        return
    (database,) = connection.execute("select current_database()").fetchall()[0]
    named = "'" + run.replace("'", "''") + "'"
    connection.execute(
        f'create temp view trace as select * replace (coalesce(run, {named}) as run) from "{database}".main.trace'
    )
    yield
    connection.execute("drop view temp.trace")
