"""PyTorch's memory snapshots: pickles that torch.cuda.memory._dump_snapshot() writes.

How the format maps: entries of `device_traces` become allocator_event rows, segments and their blocks allocator_segment and
allocator_block rows, each distinct stack the rows of allocator_stack; external annotations become annotations. The file is read
opcode by opcode, by a reader that knows none that could run anything, and memory does not grow with the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.memory_snapshot.source import sniff

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "read", "sniff"]

NAME = "memory_snapshot"


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) for a memory snapshot; see traceq.importers for the contract. It is read by one process."""
    from traceq.importers.memory_snapshot.reading import read as read_snapshot

    del jobs
    return read_snapshot(path, progress)
