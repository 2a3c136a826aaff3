"""Depth, parent and enclosing operator and annotation of every host slice, by one sweep over each thread.

A sweep with a stack, not a running sum in SQL, because slices of a thread need not nest. Clocks of whole microseconds let a
child end up to one after its parent: it is taken to end with it. An annotation that a Python frame opens outlasts the
frame: it stays open, and what follows is inside it. Linear in slices, whatever the depth, but for such overlaps.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.sql import statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

# Sorted, swept and inserted at a time.
_ROWS_PER_WINDOW = 3 * 122_880

# nesting_kind of ingest/cpu_slice_ordered.sql
_OPERATOR = 1
_ANNOTATION = 2

# Times in whole microseconds, each rounded: a child ends at most this much after its parent.
_ROUNDING = 1000

_NEVER = 1 << 63


class _Places(NamedTuple):
    """Where slices belong, a list per column of cpu_slice."""

    depth: list[int | None]
    parent_id: list[int | None]
    operator_id: list[int | None]
    annotation_id: list[int | None]


class _Stack:
    """The slices open on one thread, outermost first, as parallel lists."""

    __slots__ = ("annotations", "cut", "early", "ends", "ids", "kinds", "operators", "overlapping", "rounding")

    def __init__(self, rounding: int = _ROUNDING) -> None:
        self.rounding = rounding
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

    def place(self, ids: list[int], kinds: list[int], starts: list[int], ends: list[int]) -> _Places:
        """Sweep slices of the thread in order of start, longest first."""
        places = _Places([], [], [], [])
        for slice_id, kind, ts, ts_end in zip(ids, kinds, starts, ends, strict=True):
            while self.ends and self.ends[-1] <= ts:
                self.ends.pop()
                self.ids.pop()
                self.kinds.pop()
                self.operators.pop()
                self.annotations.pop()
            if ts >= self.early:
                self._drop_ended(ts)
            operator, annotation = self.operators[-1], self.annotations[-1]
            places.depth.append(len(self.ends))
            places.parent_id.append(self.ids[-1])
            places.operator_id.append(operator)
            places.annotation_id.append(annotation)
            self.ends.append(self._end(ts_end))
            self.ids.append(slice_id)
            self.kinds.append(kind)
            self.operators.append(slice_id if kind == _OPERATOR else operator)
            self.annotations.append(slice_id if kind == _ANNOTATION else annotation)
        return places

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
    stacks: defaultdict[int, _Stack] = defaultdict(_Stack)
    cuts = connection.execute(statement("ingest/cpu_slice_windows.sql"), {"rows": _ROWS_PER_WINDOW}).fetchall()
    for ts_from, ts_until in pairwise([-_NEVER, *dict.fromkeys(ts for (ts,) in cuts), _NEVER - 1]):
        _nest_window(connection, trace_id, stacks, {"ts_from": ts_from, "ts_until": ts_until})
    connection.execute(statement("ingest/cpu_slice_async.sql"), {"trace_id": trace_id})
    return sum(stack.cut for stack in stacks.values()), sum(stack.overlapping for stack in stacks.values())


def _nest_window(
    connection: duckdb.DuckDBPyConnection, trace_id: int, stacks: Mapping[int, _Stack], window: dict[str, int]
) -> None:
    rows = connection.sql(statement("ingest/cpu_slice_ordered.sql"), params=window).to_arrow_table()
    keys = {name: rows[name].to_numpy() for name in ("thread_id", "slice_id", "nesting_kind", "ts", "ts_end")}
    columns: tuple[list[int | None], ...] = ([], [], [], [])
    first_of_thread = np.flatnonzero(np.diff(keys["thread_id"], prepend=-1))
    for first, last in pairwise([*first_of_thread.tolist(), rows.num_rows]):
        of_thread = [keys[name][first:last].tolist() for name in ("slice_id", "nesting_kind", "ts", "ts_end")]
        for column, values in zip(columns, stacks[int(keys["thread_id"][first])].place(*of_thread), strict=True):
            column.extend(values)
    for name, values in zip(_Places._fields, columns, strict=True):
        rows = rows.append_column(name, pa.array(values, pa.int64()))
    connection.register("_nested", rows)
    connection.execute(statement("ingest/cpu_slice_insert.sql"), {"trace_id": trace_id})
    connection.unregister("_nested")
