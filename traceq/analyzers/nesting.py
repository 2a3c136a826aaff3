"""Depth, parent and enclosing operator and annotation of every host slice, by one sweep over each thread.

A sweep with a stack, not a running sum in SQL: clocks of whole microseconds let a child end after its parent, and only a
stack can cut such a child where its parent ends. Linear in slices, whatever the depth.
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


class _Stack:
    """The slices open on the thread being swept, outermost first, as parallel lists."""

    __slots__ = ("annotations", "cut", "ends", "ids", "operators", "thread_id")

    def __init__(self) -> None:
        self.thread_id: int | None = None
        self.cut = 0
        self._clear()

    def _clear(self) -> None:
        self.ends: list[int] = []
        self.ids: list[int | None] = [None]
        self.operators: list[int | None] = [None]
        self.annotations: list[int | None] = [None]

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
                self._clear()
            open_ends = self.ends
            while open_ends and open_ends[-1] <= ts:
                open_ends.pop()
                self.ids.pop()
                self.operators.pop()
                self.annotations.pop()
            operator, annotation = self.operators[-1], self.annotations[-1]
            depths.append(len(open_ends))
            parents.append(self.ids[-1])
            operators.append(operator)
            annotations.append(annotation)
            end = ts_end
            if open_ends and end > open_ends[-1]:
                end = open_ends[-1]
                self.cut += 1
            open_ends.append(end)
            self.ids.append(slice_id)
            self.operators.append(slice_id if kind == _OPERATOR else operator)
            self.annotations.append(slice_id if kind == _ANNOTATION else annotation)
        return depths, parents, operators, annotations


def nest(connection: duckdb.DuckDBPyConnection, trace_id: int) -> int:
    """Fill cpu_slice from staging.cpu_slice.

    Returns how many slices outlast the one that encloses them (they are nested as if cut at its end; their own
    duration stays as the source has it).
    """
    stack = _Stack()
    with ThreadPoolExecutor(1) as thread:
        # DuckDB inserts one batch while the next is swept.
        inserting = None
        for batch in _nested_batches(connection.cursor(), stack):
            if inserting is not None:
                inserting.result()
            inserting = thread.submit(_insert, connection.cursor(), batch, trace_id)
        if inserting is not None:
            inserting.result()
    connection.execute(statement("ingest/cpu_slice_async.sql"), {"trace_id": trace_id})
    return stack.cut


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
