"""Chrome traces: PyTorch profiler (Kineto) files of every era, and the generic format of many other tools.

How the format maps: `X` events of GPU categories become gpu_slice rows, other `X`, `B`/`E` and `i` events cpu_slice rows,
`C` events and memory instants counter rows; `M` events name threads. Flow events are redundant with correlation and external
ids and are only counted. The file is streamed in blocks that DuckDB parses, many at a time; memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.chrome.source import sniff

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "read", "sniff"]

NAME = "chrome"


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (name of a traceq table, batch of its rows) for a Chrome trace; see `Importer.read`."""
    # PyArrow and NumPy take 0.15 s to import, which a report on a trace in the cache should not have to wait for.
    from traceq.importers.chrome.reading import read as read_trace

    return read_trace(path, progress, jobs)
