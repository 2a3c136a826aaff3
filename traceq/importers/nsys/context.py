"""What the readers of one file share: its tables, strings, threads, devices, and the running numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import usable_times
from traceq.importers.nsys.threads import Threads

if TYPE_CHECKING:
    from traceq.importers.nsys.devices import Devices
    from traceq.importers.nsys.member import Member
    from traceq.importers.nsys.notes import Notes
    from traceq.importers.nsys.source import Source
    from traceq.importers.nsys.strings import Strings

Rows = Iterator[tuple[str, pa.RecordBatch]]


@dataclass
class Job:
    """The import of one file."""

    source: Source
    notes: Notes
    strings: Strings
    devices: Devices
    threads: Threads = field(default_factory=Threads)
    end: int | None = None
    """Latest end of any slice so far, ns."""
    gpu_pids: set[int] = field(default_factory=set)
    """Processes that had work on a GPU."""
    members: dict[int, Member] = field(default_factory=dict)
    """What NCCL says of each process: its rank, and how many there are."""
    _next_id: int = 0

    def timed(
        self,
        table: str,
        columns: Sequence[str],
        *,
        time: str = "start",
        keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """What Source.read yields, without the rows that are not to `keep`, and without those that have no usable time."""
        for batch in self.source.read(table, columns, **options):
            rows = usable_times(keep(batch) if keep else batch, time, table, self.notes)
            if rows.num_rows:
                yield rows

    def ids(self, rows: int) -> pa.Array:
        """Fresh slice ids for so many rows."""
        first = self._next_id
        self._next_id += rows
        return pa.array(np.arange(first, self._next_id, dtype=np.int64))

    def seen(self, starts: pa.Array, lengths: pa.Array) -> None:
        """Move `end` behind these slices."""
        latest = pc.max(pc.add(starts, lengths)).as_py()
        if latest is not None and (self.end is None or latest > self.end):
            self.end = latest


def batch_of(columns: dict[str, pa.Array | None]) -> pa.RecordBatch:
    """A batch of the columns that are there; None stands for a column that would be NULL throughout."""
    return pa.RecordBatch.from_pydict({name: column for name, column in columns.items() if column is not None})
