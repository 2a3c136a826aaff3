"""Ingest: from the files a user names to one database that holds them, unchanged when anything fails."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import duckdb
import msgspec

from traceq.analysis.job.job import fill_jobs
from traceq.common.limits import limits
from traceq.database.connect import check_name, connect
from traceq.database.failures import FAILURES, one_line, way_out
from traceq.database.publish import check_finished, database_state, merge, publish, scratch_beside
from traceq.database.user_sql import run_interruptibly
from traceq.errors import QueryError, StoreError, WrongUse
from traceq.loading.annotated_nodes import AnnotationFile
from traceq.loading.build import Task
from traceq.loading.inductor import inductor_files
from traceq.loading.monitors import NOTHING, MonitorLogs
from traceq.loading.options import AS_FOUND, TraceOptions
from traceq.loading.parallel import build_all
from traceq.loading.sources import Source, capture_sources, default_database, find_sources, logs_beside, paths_of

# What can be added to the times of logs, s: since 1970 a trace without a time of day is that far off.
_FURTHEST = 4_000_000_000


class IngestedTrace(msgspec.Struct, frozen=True):
    """One trace that was added: its file, its number in the database, and numbers of its slices and notes."""

    path: Path
    trace_id: int
    cpu_slices: int
    gpu_slices: int
    notes: int


class Failure(msgspec.Struct, frozen=True):
    """A trace that could not be read, and why."""

    path: Path
    reason: str


class IngestResult(msgspec.Struct, frozen=True):
    """Result of an ingest: the database or dataset, the traces added, the files whose content was there already.

    `not_judged` says why the rules could not run. A dataset takes what can be read: `failures` are the traces that
    could not be, and `resumed` is how many of the traces added were read by an earlier, interrupted ingest. `moved`
    names the former run of each trace that is in another run now.
    """

    database: Path | str
    ingested: tuple[IngestedTrace, ...]
    skipped: tuple[Path, ...]
    not_judged: str | None = None
    failures: tuple[Failure, ...] = ()
    resumed: int = 0
    moved: tuple[str, ...] = ()


def ingest(
    sources: str | Path | Sequence[str | Path],
    database: str | Path | None = None,
    *,
    options: TraceOptions = AS_FOUND,
    run: str | None = None,
    force: bool = False,
    beside: MonitorLogs = NOTHING,
) -> IngestResult:
    """Read traces into a database as `new_database` does, and return what was added; the rules do not run."""
    with new_database(sources, database, options=options, run=run, force=force, beside=beside) as (result, _):
        return result


@contextmanager
def new_database(
    sources: str | Path | Sequence[str | Path],
    database: str | Path | None = None,
    *,
    options: TraceOptions = AS_FOUND,
    run: str | None = None,
    force: bool = False,
    beside: MonitorLogs = NOTHING,
) -> Iterator[tuple[IngestResult, duckdb.DuckDBPyConnection | None]]:
    """Load and analyse trace files, directories or globs into a copy of the database, and publish the copy at the end.

    The block may write more through the connection, which is None where no trace is new. Content that the database
    holds already (same SHA-256) is skipped, with `force` replaced. `beside` are monitor logs and memory snapshots for
    all of the traces. Raises a TraceqError and leaves the database as it was when any source, or the block, fails.
    """
    check_step_range(options.choice.step_range)
    sources = [sources] if isinstance(sources, (str, Path)) else sources
    found = find_sources(sources)
    check_offset(beside, found)
    captures = capture_sources(options.capture)
    given = Path(database) if database is not None else default_database(found, sources)
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(given)) if os.path.islink(given) else given  # noqa: PTH114 - raises nothing
    check_name(target)
    before = database_state(target)
    known = _find_known_traces(target)
    new, skipped, replaced = _split(found, known, force=force or beside != NOTHING)
    if not new:
        yield IngestResult(given, (), tuple(skipped)), None
        return
    progress = limits().progress
    progress.start(sum(source.size for source, _ in new))
    try:
        with scratch_beside(target) as scratch:
            tasks = _plan_tasks(new, known, scratch, run, options, captures, beside)
            build_all(tasks)
            finished = merge([task.database for task in tasks], target, scratch, replaced)
            with closing(connect(finished, read_only=False)) as connection:
                # Its temporary tables go with it.
                with closing(connection.cursor()) as jobs:
                    run_interruptibly(jobs, partial(fill_jobs, jobs))
                ingested = tuple(_count(connection, task) for task in tasks)
                yield IngestResult(given, ingested, tuple(skipped)), connection
            publish(finished, target, before)
    except FAILURES as error:
        raise StoreError(
            f"{target}: ingest failed, nothing was written: {one_line(error)}{way_out(error, target)}"
        ) from error
    finally:
        progress.finish()


def check_offset(beside: MonitorLogs, sources: Sequence[Source]) -> None:
    """Raise WrongUse if --offset is too large or not a number, or applies to nothing.

    It applies to logs and memory snapshots that --with names or that lie beside a trace.
    """
    if beside.offset is None:
        return
    if not abs(beside.offset) <= _FURTHEST:
        raise WrongUse(f"--offset {beside.offset}: give seconds, at most {_FURTHEST:,}")
    if not any(logs_beside(source.path, beside.logs) for source in sources):
        raise WrongUse(
            "--offset is added to the times of logs and memory snapshots next to the trace: name them with --with LOG"
        )


def check_step_range(pattern: str | None) -> None:
    """Raise QueryError unless the pattern is a regular expression of DuckDB (RE2, which knows less than Python's re)."""
    if pattern is None:
        return
    with closing(duckdb.connect()) as connection:
        try:
            connection.execute("select regexp_matches('', $1)", [pattern])
        except duckdb.Error as error:
            raise QueryError(
                f"step range {pattern!r}: not a regular expression of DuckDB: {one_line(error)}"
            ) from error


def _find_known_traces(database: Path) -> dict[str, int]:
    """Return the trace_id of each trace in the database by the hash of its content; empty if there is no database.

    Raises StoreError where it cannot be read, or its folder does not exist.
    """
    check_finished(database)
    if not database.exists():
        if not database.parent.is_dir():
            raise StoreError(
                f"{database}: the directory {database.parent} does not exist; create it or choose another -o"
            )
        return {}
    with closing(connect(database)) as connection:
        try:
            return dict(connection.execute("select sha256, trace_id from trace").fetchall())
        except duckdb.Error as error:
            raise StoreError(f"{database}: cannot be read; is it damaged? {one_line(error)}") from error


def _split(
    sources: Sequence[Source], known: dict[str, int], *, force: bool
) -> tuple[list[tuple[Source, str]], list[Path], list[int]]:
    """Return the sources to ingest with the hashes of their content, the paths to skip, and the trace_ids that are replaced.

    Skipped are second files of the same content and, without `force`, content that the database holds (`known`).
    """
    new: dict[str, Source] = {}
    skipped = []
    for source in sources:
        hashed, sha256 = source.with_content()
        if sha256 in new or (sha256 in known and not force):
            skipped.append(source.path)
        else:
            new[sha256] = hashed
    return [(source, sha256) for sha256, source in new.items()], skipped, [known[s] for s in new if s in known]


def _plan_tasks(
    new: Sequence[tuple[Source, str]],
    known: dict[str, int],
    scratch: Path,
    run: str | None,
    options: TraceOptions,
    captures: tuple[Source | AnnotationFile, ...],
    beside: MonitorLogs,
) -> list[Task]:
    """Return the task of each new trace; a trace whose content is known keeps its trace_id. Memory and cores are shared out."""
    share = limits().share(len(new))
    inductor = paths_of(options.inductor)
    next_id = max(known.values(), default=0) + 1
    tasks = []
    for source, sha256 in new:
        trace_id = known.get(sha256)
        if trace_id is None:
            trace_id, next_id = next_id, next_id + 1
        tasks.append(
            Task(
                source=source,
                database=scratch / f"trace-{trace_id}.duckdb",
                scratch=scratch,
                trace_id=trace_id,
                run=run,
                sha256=sha256,
                choice=options.choice,
                jobs=share.jobs,
                threads=share.threads,
                memory=share.memory,
                captures=captures,
                inductor=inductor_files(inductor, source.path),
                is_inductor_given=bool(inductor),
                beside=beside,
            )
        )
    return tasks


def _count(connection: duckdb.DuckDBPyConnection, task: Task) -> IngestedTrace:
    """Return the result of a task: numbers of slices and notes of its trace in the database."""
    tables = ("cpu_slice", "gpu_slice", "import_note")
    counted = ", ".join(f"(select count(*) from {table} where trace_id = $trace_id)" for table in tables)
    (rows,) = connection.execute(f"select {counted}", {"trace_id": task.trace_id}).fetchall()
    cpu_slices, gpu_slices, notes = rows
    return IngestedTrace(task.source.shown, task.trace_id, cpu_slices, gpu_slices, notes)
