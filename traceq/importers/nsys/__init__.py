"""Importer of NVIDIA Nsight Systems: SQLite exports of every version, gzip'd or not, and its own reports.

Each table of an export becomes rows of one of traceq's: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and
_GRAPH_TRACE are gpu_slice, _RUNTIME, OSRT_API, MPI_* and NVTX_EVENTS are cpu_slice, and so on; `gpu.py`,
`host.py`, `nvtx.py`, `payload.py`, `samples.py`, `synchronizations.py` and `counters.py` read some
tables each. Tables nobody reads are counted in notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.nsys.files import files_of, is_sqlite, sniff

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "is_sqlite", "read", "sniff", "trace_files"]

NAME = "nsys"


def trace_files(path: Path) -> tuple[Path, ...]:
    """Return the files of the trace `path` belongs to: all tables of a Parquet or Arrow export, else `path` alone."""
    return files_of(path) or (path,)


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (name of a traceq table, batch of its rows) for an export or report of nsys; see `Importer.read`."""
    # The SQLite driver takes 0.3 s to import, which reading a Chrome trace should not have to wait for.
    from traceq.importers.nsys.reader import read as read_export

    return read_export(path, progress, jobs)
