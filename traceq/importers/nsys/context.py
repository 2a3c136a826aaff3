"""State that the readers of one file share: its tables, strings, threads, devices, and running numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import drop_unusable_times
from traceq.importers.nsys.threads import ProcessIds, Threads

if TYPE_CHECKING:
    from traceq.importers.nsys.devices import Devices
    from traceq.importers.nsys.source import NsysExport
    from traceq.importers.nsys.strings import Strings
    from traceq.importers.rows import Notes


class Member(NamedTuple):
    """A process's rank in an NCCL communicator and the communicator's size; None where unknown or ambiguous."""

    rank: int | None
    ranks: int | None


Rows = Iterator[tuple[str, pa.RecordBatch]]


class ImportState(msgspec.Struct):
    """State of the import of one nsys file, shared by the readers of its tables."""

    source: NsysExport
    notes: Notes
    strings: Strings
    processes: ProcessIds
    devices: Devices
    threads: Threads
    end: int | None = None
    """Latest end of any slice so far, ns."""
    gpu_pids: set[int] = msgspec.field(default_factory=set)
    """Processes that had work on a GPU."""
    members: dict[int, Member] = msgspec.field(default_factory=dict)
    """What NCCL says of each process: its rank, and how many there are."""
    _next_id: int = 0

    def read_timed(
        self,
        table: str,
        columns: Sequence[str],
        *,
        time: str = "start",
        keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """Yield a table's batches as NsysExport.read does, without rows that `keep` drops or whose `time` is unusable.

        `time` is the column that must hold a usable time, ns; `options` are those of NsysExport.read. Rows dropped for
        their time are counted in a note; empty batches are not yielded.
        """
        for batch in self.source.read(table, columns, **options):
            rows = drop_unusable_times(keep(batch) if keep else batch, time, table, self.notes)
            if rows.num_rows:
                yield rows

    def take_ids(self, rows: int) -> pa.Array:
        """Return a column of the next `rows` free slice ids, ascending."""
        first = self._next_id
        self._next_id += rows
        return pa.array(np.arange(first, self._next_id, dtype=np.int64))

    def extend_end(self, starts: pa.Array, lengths: pa.Array) -> None:
        """Move `end` to the latest end of these slices if that is later; starts and lengths are columns in ns."""
        latest = pc.max(pc.add(starts, lengths)).as_py()
        if latest is not None and (self.end is None or latest > self.end):
            self.end = latest


def build_batch(columns: dict[str, pa.Array | None]) -> pa.RecordBatch:
    """Return a batch of the columns that are not None; a column left out is NULL in the table."""
    return pa.RecordBatch.from_pydict({name: column for name, column in columns.items() if column is not None})
