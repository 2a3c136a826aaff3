"""The cross-rank stage of one window: what is true of its ranks together, from what the pieces tell of communication."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime

import duckdb
import msgspec

from traceq.analysis.job.job import fill_jobs
from traceq.common.child import Child
from traceq.common.code_hash import code_hash
from traceq.common.limits import Limits, limits, within
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.dataset.catalogue import JOB_TABLES, create_catalogue, explain_damage, open_catalogue
from traceq.dataset.manifest import DatasetWindow, Manifest, Piece, digest_of
from traceq.dataset.piece import copy_table, digest_files
from traceq.dataset.place import Place
from traceq.errors import StoreError
from traceq.reports.build import read_jobs
from traceq.reports.model import Job

# The arrays of more ranks are made in a process of its own: this one may have to wait for workers of a cluster for hours.
_MOST_HERE = 64

# In the folder of a window's job.
SUMMARY = "told.json"

# Rooms that it depends on: a change of any file in them makes it void.
_ROOMS = ("analysis", "common", "database", "diagnosis", "errors.py", "formats")
_REACHED = (*_ROOMS, "reports/build.py", "reports/model.py", "reports/sql")


class JobSummary(msgspec.Struct, frozen=True):
    """The summary of a window: its jobs as reports show them, traces (`spared`) that others stand for, and a code stamp.

    `is_judged` says whether all ranks were judged together; a rank can then be reported on without the others' pieces.
    """

    stamp: str
    jobs: tuple[Job, ...]
    spared: tuple[int, ...]
    is_judged: bool


def summarize_jobs(connection: duckdb.DuckDBPyConnection) -> JobSummary:
    """Return the summary of the window whose tables the connection holds."""
    jobs = tuple(read_jobs(connection))
    spared = tuple(row["trace_id"] for row in ask(connection, statement("diagnosis/sql/spared.sql")))
    of_ranks = {row["trace_id"] for row in ask(connection, "select trace_id from job_rank")}
    alone = ask(
        connection, "select count(*) as traces from trace where trace_id not in (select trace_id from job_rank)"
    )
    are_judged = all(job.ranks > 1 and job.dur_ns is not None and job.cannot_tell is None for job in jobs)
    is_judged = bool(of_ranks) and not alone[0]["traces"] and are_judged
    return JobSummary(_code_stamp(), jobs, spared, is_judged)


def _code_stamp() -> str:
    """Return a hash of the code on which summaries depend."""
    return code_hash(*_REACHED)


def read_summary(place: Place, manifest: Manifest, window: DatasetWindow) -> JobSummary:
    """Return the summary that the cross-rank stage wrote for the window.

    It is made anew, but not written, if the file is missing, damaged, or by other code of traceq.
    """
    content = place.read(window.folder, SUMMARY)
    try:
        is_whole = content is not None and window.files.get("told") in (None, hashlib.sha256(content).hexdigest())
        told = None if content is None or not is_whole else msgspec.json.decode(content, type=JobSummary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        told = None
    if told is not None and told.stamp == _code_stamp():
        return told
    pieces = manifest.pieces_of(window.run, window.window)
    with explain_damage(place), open_catalogue(place, manifest, pieces, [window]) as connection:
        return summarize_jobs(connection)


def fill_window(place: Place, manifest: Manifest, pieces: Sequence[Piece], window: DatasetWindow) -> DatasetWindow:
    """Match the ranks in `pieces`, write the tables of their job to the window's folder, and return the window with their names.

    With many ranks this is done in a process of its own; raises StoreError if that is killed.
    """
    if len(pieces) <= _MOST_HERE:
        return _fill_here(place, manifest, pieces, window)
    with closing(Child("traceq.dataset.worker")) as process:
        # of one that has ended already nothing comes, either
        with suppress(BrokenPipeError):
            process.send((_fill_within_limits, (limits().memory, place, manifest, pieces, window)))
        answer = next(process.answers, None)
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, DatasetWindow):
        return answer
    raise StoreError(
        f"{place.name}: the process that analyses the job of {len(pieces)} ranks was killed; out of memory?"
        " Its pieces are kept: ingest again with a lower --memory-limit"
    )


def _fill_within_limits(
    memory: int | None, place: Place, manifest: Manifest, pieces: Sequence[Piece], window: DatasetWindow
) -> DatasetWindow:
    """Fill the window in a child process, under this memory limit (bytes), as it does not inherit the command's limits."""
    with within(Limits(memory)):
        return _fill_here(place, manifest, pieces, window)


def _fill_here(place: Place, manifest: Manifest, pieces: Sequence[Piece], window: DatasetWindow) -> DatasetWindow:
    """Fill the window in this process, and return it with its tables, the hash of its pieces, and the time."""
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
            (files / SUMMARY).write_bytes(msgspec.json.encode(summarize_jobs(connection)))
        digests = digest_files(files)
        place.remove(window.folder)
        place.put(files, window.folder)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.structs.replace(window, tables=tuple(tables), made_of=digest_of(pieces), made_at=now, files=digests)


@contextmanager
def _join_one_run(connection: duckdb.DuckDBPyConnection, run: str) -> Iterator[None]:
    """During the block, let traces with and without --run in one run belong to one job."""
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
