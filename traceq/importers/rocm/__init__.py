"""ROCm's profilers: rocprofv3 in JSON and in SQLite (rocpd), and RPD's SQLite and Chrome traces (rocmProfileData).

Dispatches, copies and fills become gpu_slice, calls of HIP, HSA and RCCL, and roctx ranges cpu_slice, each GPU agent a device
(one of the two dies of an MI250 is an agent of its own). `dispatches.py` makes rows of what all of them say alike;
`rocprofv3.py`, `rocpd.py`, `rpd.py` and `rpd_json.py` read one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.rocm.source import sniff

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "read", "sniff"]

NAME = "rocm"


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch of rows) for a file of one of ROCm's profilers; see traceq.importers for the contract.

    `progress` is called with the bytes read so far; `jobs` is ignored, because one process reads the whole file.
    """
    from traceq.importers.rocm.reading import read as read_file

    del jobs
    return read_file(path, progress)
