"""Tables of a job's operations (Parquet): one row per operation of a rank, as studies of large jobs publish them.

Columns: rank, operation, start, end or duration; and step, stage, copy of the model, micro-batch, ordinal where they are known
(source.py has their names). Each rank becomes a device of one trace; operations that move data become communication with the
groups that their names tell (groups.py), and barriers that the table does not name are found by their times (hidden.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.importers.operations.source import sniff

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NAME", "read", "sniff"]

NAME = "operations"


def read(
    path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch of rows) for a table of operations; see traceq.importers for the contract.

    `progress` is called with the bytes read so far; `jobs` is ignored, because one process reads the whole file.
    """
    from traceq.importers.operations.reading import read as read_table

    del jobs
    return read_table(path, progress)
