"""Depth, parent and enclosing operator and annotation of every host slice, by one sweep over each thread.

A sweep with a stack, not a running sum in SQL, because slices of a thread need not nest. Clocks of whole microseconds let a
child end up to one after its parent: it is taken to end with it. An annotation that a Python frame opens outlasts the
frame: it stays open, and what follows is inside it. Linear in slices, whatever the depth, but for such overlaps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from traceq.sql import statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pyarrow as pa

_ROWS_PER_BATCH = 122_880  # a row group

# nesting_kind of ingest/cpu_slice_ordered.sql
_OPERATOR = 1
_ANNOTATION = 2

# Times in whole microseconds, each rounded: a child ends at most this much after its parent.
_ROUNDING = 1000

_NEVER = 1 << 63


class _Stack:
    """The slices open on the thread being swept, outermost first, as parallel lists."""

    __slots__ = (
        "annotations",
        "cut",
        "early",
        "ends",
        "ids",
        "kinds",
        "operators",
        "overlapping",
        "rounding",
        "thread_id",
    )

    def __init__(self, rounding: int = _ROUNDING) -> None:
        self.rounding = rounding
        self.thread_id: int | None = None
        self.cut = 0
        self.overlapping = 0
        self._set([])

    def _set(self, slices: list[tuple[int, int | None, int]]) -> None:
        """Make (end, id, kind) the open slices."""
        self.ends = [end for end, _, _ in slices]
        self.ids: list[int | None] = [None, *(slice_id for _, slice_id, _ in slices)]
        self.kinds = [kind for _, _, kind in slices]
        self.operators: list[int | None] = [None]
        self.annotations: list[int | None] = [None]
        for _, slice_id, kind in slices:
            self.operators.append(slice_id if kind == _OPERATOR else self.operators[-1])
            self.annotations.append(slice_id if kind == _ANNOTATION else self.annotations[-1])
        # The first end of a slice that lies under one that outlasts it.
        self.early = _NEVER
        latest = 0
        for end in reversed(self.ends):
            if end < latest:
                self.early = min(self.early, end)
            latest = max(latest, end)

    def _drop_ended(self, ts: int) -> None:
        """Take out slices that have ended under others that have not."""
        slices = zip(self.ends, self.ids[1:], self.kinds, strict=True)
        self._set([each for each in slices if each[0] > ts])

    def place(
        self, threads: list[int], ids: list[int], kinds: list[int], starts: list[int], ends: list[int]
    ) -> tuple[list[int], list[int | None], list[int | None], list[int | None]]:
        """Sweep slices in order of (thread, start, longest first); returns depth, parent, operator, annotation of each."""
        depths: list[int] = []
        parents: list[int | None] = []
        operators: list[int | None] = []
        annotations: list[int | None] = []
        for thread_id, slice_id, kind, ts, ts_end in zip(threads, ids, kinds, starts, ends, strict=True):
            if thread_id != self.thread_id:
                self.thread_id = thread_id
                self._set([])
            while self.ends and self.ends[-1] <= ts:
                self.ends.pop()
                self.ids.pop()
                self.kinds.pop()
                self.operators.pop()
                self.annotations.pop()
            if ts >= self.early:
                self._drop_ended(ts)
            operator, annotation = self.operators[-1], self.annotations[-1]
            depths.append(len(self.ends))
            parents.append(self.ids[-1])
            operators.append(operator)
            annotations.append(annotation)
            self.ends.append(self._end(ts_end))
            self.ids.append(slice_id)
            self.kinds.append(kind)
            self.operators.append(slice_id if kind == _OPERATOR else operator)
            self.annotations.append(slice_id if kind == _ANNOTATION else annotation)
        return depths, parents, operators, annotations

    def _end(self, end: int) -> int:
        """The end to use for a slice that starts now: its own, or its parent's when only rounding puts it later."""
        if not self.ends or end <= self.ends[-1]:
            return end
        if end - self.ends[-1] <= self.rounding:
            self.cut += 1
            return self.ends[-1]
        self.overlapping += 1
        self.early = min(self.early, self.ends[-1])
        return end


def nest(connection: duckdb.DuckDBPyConnection, trace_id: int) -> tuple[int, int]:
    """Fill cpu_slice from staging.cpu_slice.

    Returns how many slices outlast the one that encloses them, within rounding and beyond.
    """
    stack = _Stack()
    with ThreadPoolExecutor(1) as thread:
        # DuckDB inserts one batch while the next is swept.
        inserting = None
        writer = connection.cursor()
        writer.begin()
        for batch in _nested_batches(connection.cursor(), stack):
            if inserting is not None:
                inserting.result()
            inserting = thread.submit(_insert, writer, batch, trace_id)
        if inserting is not None:
            inserting.result()
        writer.commit()
    connection.execute(statement("ingest/cpu_slice_async.sql"), {"trace_id": trace_id})
    return stack.cut, stack.overlapping


def _insert(connection: duckdb.DuckDBPyConnection, batch: pa.RecordBatch, trace_id: int) -> None:
    connection.register("_nested", batch)
    connection.execute(statement("ingest/cpu_slice_insert.sql"), {"trace_id": trace_id})
    connection.unregister("_nested")


def _nested_batches(reader: duckdb.DuckDBPyConnection, stack: _Stack) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    batches = reader.sql(statement("ingest/cpu_slice_ordered.sql")).to_arrow_reader(_ROWS_PER_BATCH)
    for batch in batches:
        keys = [batch[name].to_numpy().tolist() for name in ("thread_id", "slice_id", "nesting_kind", "ts", "ts_end")]
        names = ("depth", "parent_id", "operator_id", "annotation_id")
        for name, values in zip(names, stack.place(*keys), strict=True):
            batch = batch.append_column(name, pa.array(values, pa.int64()))  # noqa: PLW2901
        yield batch
