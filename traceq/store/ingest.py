"""Ingest: from the files a user names to one database that holds them, unchanged when anything fails."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb

from traceq.errors import StoreError
from traceq.store.build import Task
from traceq.store.database import connect, one_line
from traceq.store.parallel import build_all
from traceq.store.progress import Progress, Silent
from traceq.store.publish import publish, scratch_beside
from traceq.store.sources import Source, default_database, find_sources

# DuckDB's share; Python, Arrow and the importer's blocks take as much again, and the whole stays below 1 GiB.
_MEMORY = 400 << 20
_LEAST_MEMORY = 128 << 20


@dataclass(frozen=True)
class IngestedTrace:
    """One trace that was added: its file, its number in the database, and counts of rows."""

    path: Path
    trace_id: int
    cpu_slices: int
    gpu_slices: int
    notes: int


@dataclass(frozen=True)
class IngestResult:
    """What an ingest did: the database, the traces added, the files whose content was there already."""

    database: Path
    ingested: tuple[IngestedTrace, ...]
    skipped: tuple[Path, ...]


def ingest(
    sources: Sequence[str | Path],
    database: str | Path | None = None,
    *,
    run: str | None = None,
    jobs: int = 1,
    force: bool = False,
    step_range: str | None = None,
    progress: Progress | None = None,
) -> IngestResult:
    """Read trace files, directories or globs into one trace database, beside what it holds already.

    Content that is there (same SHA-256) is skipped, with `force` replaced. `jobs` is the number of processes to use.
    `step_range` is a regular expression for the annotations that mark steps. Raises a TraceqError and leaves the
    database as it was when any source fails.
    """
    found = find_sources(sources)
    target = Path(database) if database is not None else default_database(found, sources)
    known = _known_traces(target)
    new, skipped, replaced = _split(found, known, force=force)
    if not new:
        return IngestResult(target, (), tuple(skipped))
    teller = progress or Silent()
    teller.start(sum(source.path.stat().st_size for source, _ in new))
    try:
        with scratch_beside(target) as scratch:
            tasks = _tasks(new, known, scratch, run, step_range, jobs)
            build_all(tasks, jobs, teller)
            publish([task.database for task in tasks], target, scratch, replaced)
    except (duckdb.IOException, duckdb.OutOfMemoryException, OSError) as error:
        raise StoreError(f"{target}: ingest failed, nothing was written: {one_line(error)}") from error
    finally:
        teller.finish()
    return IngestResult(target, _count(target, tasks), tuple(skipped))


def _known_traces(database: Path) -> dict[str, int]:
    """Content hash to trace_id of what the database holds already."""
    if not database.exists():
        if not database.parent.is_dir():
            raise StoreError(
                f"{database}: the directory {database.parent} does not exist; create it or choose another -o"
            )
        return {}
    with closing(connect(database)) as connection:
        return dict(connection.execute("select sha256, trace_id from trace").fetchall())


def _split(
    sources: Sequence[Source], known: dict[str, int], *, force: bool
) -> tuple[list[tuple[Source, str]], list[Path], list[int]]:
    """Sources to ingest with their hashes, paths to skip, and ids of traces that are replaced."""
    new: dict[str, Source] = {}
    skipped = []
    for source in sources:
        sha256 = _sha256(source.path)
        if sha256 in new or (sha256 in known and not force):
            skipped.append(source.path)
        else:
            new[sha256] = source
    return [(source, sha256) for sha256, source in new.items()], skipped, [known[s] for s in new if s in known]


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
            return digest.hexdigest()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error


def _tasks(
    new: Sequence[tuple[Source, str]],
    known: dict[str, int],
    scratch: Path,
    run: str | None,
    step_range: str | None,
    jobs: int,
) -> list[Task]:
    at_once = min(jobs, len(new))
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
                step_range=step_range,
                jobs=max(1, jobs // at_once),
                memory=max(_LEAST_MEMORY, _MEMORY // at_once),
            )
        )
    return tasks


def _count(database: Path, tasks: Sequence[Task]) -> tuple[IngestedTrace, ...]:
    def count(table: str, trace_id: int) -> int:
        row = connection.execute(f"select count(*) from {table} where trace_id = ?", [trace_id]).fetchone()
        return int(row[0]) if row else 0

    with closing(connect(database)) as connection:
        return tuple(
            IngestedTrace(
                path=task.source.path,
                trace_id=task.trace_id,
                cpu_slices=count("cpu_slice", task.trace_id),
                gpu_slices=count("gpu_slice", task.trace_id),
                notes=count("import_note", task.trace_id),
            )
            for task in tasks
        )
