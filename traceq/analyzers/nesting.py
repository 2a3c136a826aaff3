"""Depth, parent and enclosing operator and annotation of every host slice, by one sweep over each thread.

A sweep with a stack, not a running sum in SQL: clocks of whole microseconds let a child end after its parent, and only a
stack can cut such a child where its parent ends. Linear in slices, whatever the depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traceq.sql import statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pyarrow as pa

_ROWS_PER_BATCH = 100_000


class _Stack:
    """The slices open on the thread being swept, outermost first, as parallel lists."""

    __slots__ = ("annotations", "cut", "ends", "ids", "operators", "thread_id")

    def __init__(self) -> None:
        self.thread_id: int | None = None
        self.cut = 0
        self._clear()

    def _clear(self) -> None:
        self.ends: list[int] = []
        self.ids: list[int] = []
        self.operators: list[int | None] = [None]
        self.annotations: list[int | None] = [None]

    def place(self, columns: dict[str, list[Any]]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Sweep slices in order of (thread, start, longest first); returns depth, parent, operator, annotation of each."""
        depths: list[int] = []
        parents: list[int | None] = []
        operators: list[int | None] = []
        annotations: list[int | None] = []
        rows = zip(
            columns["thread_id"], columns["slice_id"], columns["kind"], columns["ts"], columns["ts_end"], strict=True
        )
        for thread_id, slice_id, kind, ts, ts_end in rows:
            if thread_id != self.thread_id:
                self.thread_id = thread_id
                self._clear()
            ends, ids = self.ends, self.ids
            while ends and ends[-1] <= ts:
                ends.pop()
                ids.pop()
                self.operators.pop()
                self.annotations.pop()
            operator, annotation = self.operators[-1], self.annotations[-1]
            depths.append(len(ends))
            parents.append(ids[-1] if ids else None)
            operators.append(operator)
            annotations.append(annotation)
            end = ts_end
            if ends and end > ends[-1]:
                end = ends[-1]
                self.cut += 1
            ends.append(end)
            ids.append(slice_id)
            self.operators.append(slice_id if kind == "op" else operator)
            self.annotations.append(slice_id if kind == "annotation" else annotation)
        return depths, parents, operators, annotations


def nest(connection: duckdb.DuckDBPyConnection, trace_id: int) -> int:
    """Fill cpu_slice from staging.cpu_slice.

    Returns how many slices outlast the one that encloses them (they are nested as if cut at its end; their own
    duration stays as the source has it).
    """
    stack = _Stack()
    reader = connection.cursor()
    writer = connection.cursor()
    for batch in _nested_batches(reader, stack):
        writer.register("_nested", batch)
        writer.execute(statement("ingest/cpu_slice_insert.sql"), {"trace_id": trace_id})
        writer.unregister("_nested")
    connection.execute(statement("ingest/cpu_slice_async.sql"), {"trace_id": trace_id})
    return stack.cut


def _nested_batches(reader: duckdb.DuckDBPyConnection, stack: _Stack) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    batches = reader.sql(statement("ingest/cpu_slice_ordered.sql")).to_arrow_reader(_ROWS_PER_BATCH)
    for batch in batches:
        keys = {name: batch[name].to_pylist() for name in ("thread_id", "slice_id", "kind", "ts", "ts_end")}
        places = stack.place(keys)
        names = ("depth", "parent_id", "operator_id", "annotation_id")
        for name, values in zip(names, places, strict=True):
            batch = batch.append_column(name, pa.array(values, pa.int64()))  # noqa: PLW2901
        yield batch
