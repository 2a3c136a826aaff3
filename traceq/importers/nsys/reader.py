"""Reading one nsys file from beginning to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.nsys import (
    counters,
    file_accesses,
    gpu,
    graph_nodes,
    host,
    mpi,
    nvtx,
    page_faults,
    payload,
    samples,
    scheduling,
    synchronizations,
)
from traceq.importers.nsys.capture import trace_row
from traceq.importers.nsys.context import Job, Rows
from traceq.importers.nsys.devices import Devices
from traceq.importers.nsys.diagnostics import note_diagnostics, note_other_tables
from traceq.importers.nsys.files import sqlite_file
from traceq.importers.nsys.notes import Notes
from traceq.importers.nsys.source import Source
from traceq.importers.nsys.strings import Strings
from traceq.importers.rows import batches_of

_READERS = (
    gpu.read_gpu,
    synchronizations.read_synchronizations,
    host.read_host,
    mpi.read_mpi,
    counters.read_counters,
    page_faults.read_page_faults,
    graph_nodes.read_graph_nodes,
    file_accesses.read_file_accesses,
    nvtx.read_nvtx,  # after these, because open ranges end where everything else does
    scheduling.read_scheduling,  # last, because threads count of which there is something else
    samples.read_samples,
)
_TABLES = (
    "StringIds",
    *gpu.TABLES,
    *synchronizations.TABLES,
    *host.TABLES,
    *mpi.TABLES,
    *counters.TABLES,
    *page_faults.TABLES,
    *graph_nodes.TABLES,
    *file_accesses.TABLES,
    *nvtx.TABLES,
    *payload.TABLES,
    *scheduling.TABLES,
    *samples.TABLES,
)


def read(path: Path, progress: Callable[[int], None], jobs: int) -> Rows:
    """Yield (table, batch) for the whole file.

    `progress` gets source bytes, estimated from the share of rows read; `jobs` is not used, one file is one
    process. Raises UnusableTrace when nothing can be read, MissingTool when a report needs nsys and there is
    none.
    """
    del jobs
    notes = Notes()
    try:
        with sqlite_file(path, notes) as database, Source(database, path, notes) as source:
            source.on_rows = _progress(path, source, progress)
            yield from _tables(path, source, notes)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror or error}") from error
    progress(path.stat().st_size)


def _tables(path: Path, source: Source, notes: Notes) -> Rows:
    source.search_ahead(nvtx.TABLE, nvtx.SEARCHED)
    job = Job(source, notes, Strings(source, notes), Devices(source, notes))
    batches = 0
    for reader in _READERS:
        for table, batch in reader(job):
            batches += 1
            yield table, batch
    if not batches and notes.has("table_damaged"):
        raise UnusableTrace(f"{path}: the SQLite file is damaged, no table with events can be read; copy it again")
    yield from batches_of(
        "thread", job.threads.rows(source, job.strings, {pid: member.rank for pid, member in job.members.items()})
    )
    yield from job.devices.batches()
    yield from batches_of("trace", [trace_row(job)])
    note_diagnostics(job)
    note_other_tables(job)
    yield from batches_of("import_note", notes.rows())


def _progress(path: Path, source: Source, progress: Callable[[int], None]) -> Callable[[int], None]:
    size = path.stat().st_size
    expected = max(sum(source.estimate(table) for table in _TABLES), 1)
    done = 0

    def on_rows(rows: int) -> None:
        nonlocal done
        done += rows
        progress(min(size, size * done // expected))

    return on_rows
