"""Reading one nsys file from beginning to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.nsys import backtraces, counters, gpu, host, network, nvtx, payload, samples, synchronizations
from traceq.importers.nsys.capture import build_trace_row
from traceq.importers.nsys.context import ImportState, Rows
from traceq.importers.nsys.devices import Devices
from traceq.importers.nsys.diagnostics import note_diagnostics, note_other_tables
from traceq.importers.nsys.files import open_sqlite_file
from traceq.importers.nsys.source import NsysExport
from traceq.importers.nsys.strings import Strings
from traceq.importers.nsys.threads import ProcessIds, Threads
from traceq.importers.rows import Notes, batches_of

_READERS = (
    gpu.read_gpu,
    synchronizations.read_synchronizations,
    host.read_host,
    host.read_mpi,
    counters.read_counters,
    network.read_network,
    gpu.read_page_faults,
    gpu.read_graph_nodes,
    host.read_file_accesses,
    nvtx.read_nvtx,  # after these, because open ranges end where everything else does
    host.read_scheduling,  # last, because threads count of which there is something else
    samples.read_samples,
)
_TABLES = (
    "StringIds",
    *gpu.TABLES,
    *synchronizations.TABLES,
    *host.TABLES,
    *backtraces.TABLES,
    *counters.TABLES,
    *network.TABLES,
    *nvtx.TABLES,
    *payload.TABLES,
    *samples.TABLES,
)


def read(path: Path, progress: Callable[[int], None], jobs: int) -> Rows:
    """Yield (name of a traceq table, batch of its rows) for an export or report of nsys, the notes last.

    `progress` gets bytes of the file, estimated from the share of rows read; `jobs` is ignored. Raises UnusableTrace
    when nothing can be read, MissingTool when the file is a report and there is no nsys to export it.
    """
    del jobs
    notes = Notes()
    try:
        with open_sqlite_file(path, notes) as database, NsysExport(database, path, notes) as source:
            source.on_rows = _count_progress(path, source, progress)
            yield from _read_tables(path, source, notes)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror or error}") from error
    progress(path.stat().st_size)


def _read_tables(path: Path, source: NsysExport, notes: Notes) -> Rows:
    """Yield (table, batch) of all tables of the opened export; `path` is for messages.

    Raises UnusableTrace when no table with events can be read because the file is damaged.
    """
    source.search_ahead(nvtx.TABLE, nvtx.SEARCHED)
    processes = ProcessIds()
    state = ImportState(source, notes, Strings(source, notes), processes, Devices(source, notes), Threads(processes))
    batches = 0
    for reader in _READERS:
        for table, batch in reader(state):
            batches += 1
            yield table, batch
    if not batches and any(code == "table_damaged" for _, code, _ in notes):
        raise UnusableTrace(f"{path}: the SQLite file is damaged, no table with events can be read; copy it again")
    yield from batches_of(
        "thread",
        state.threads.build_rows(source, state.strings, {pid: member.rank for pid, member in state.members.items()}),
    )
    yield from state.devices.build_batches()
    yield from batches_of("trace", [build_trace_row(state)])
    processes.note_shared(notes)
    note_diagnostics(state)
    note_other_tables(state)
    yield from notes.batches()


def _count_progress(path: Path, source: NsysExport, progress: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that takes a number of rows just read and tells `progress` their share so far, in bytes."""
    size = path.stat().st_size
    expected = max(sum(source.estimate(table) for table in _TABLES), 1)
    done = 0

    def on_rows(rows: int) -> None:
        nonlocal done
        done += rows
        progress(min(size, size * done // expected))

    return on_rows
