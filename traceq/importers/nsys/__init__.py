"""Importer of NVIDIA Nsight Systems: SQLite exports of every version, gzip'd or not, and its own reports.

Each table of an export becomes rows of one of traceq's: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and
_GRAPH_TRACE are gpu_slice, _RUNTIME, OSRT_API, MPI_* and NVTX_EVENTS are cpu_slice, and so on; `gpu.py`,
`host.py`, `nvtx.py`, `synchronizations.py` and `counters.py` hold the tables each. Tables nobody reads are
counted in notes.
"""

from __future__ import annotations

from traceq.importers.nsys.files import is_sqlite, sniff
from traceq.importers.nsys.reader import read

__all__ = ["NAME", "is_sqlite", "read", "sniff"]

NAME = "nsys"
