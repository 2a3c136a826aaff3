"""Depth, parent and enclosing operator and annotation of every host slice, thread by thread.

A thread's slices nearly always nest, and then arrays tell all at once (levels.py); where they do not, a stack does, one
slice after the other (stack.py).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from traceq.analyzers.levels import place_nested
from traceq.analyzers.stack import NEVER, NOBODY, Places, Stack
from traceq.sql import statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

# Sorted, swept and inserted at a time.
_ROWS_PER_WINDOW = 3 * 122_880


def nest(connection: duckdb.DuckDBPyConnection, trace_id: int) -> tuple[int, int]:
    """Fill cpu_slice from staging.cpu_slice.

    Returns how many slices outlast the one that encloses them, within rounding and beyond.
    """
    stacks: defaultdict[int, Stack] = defaultdict(Stack)
    cuts = connection.execute(statement("ingest/cpu_slice_windows.sql"), {"rows": _ROWS_PER_WINDOW}).fetchall()
    for ts_from, ts_until in pairwise([-NEVER, *dict.fromkeys(ts for (ts,) in cuts), NEVER - 1]):
        _nest_window(connection, trace_id, stacks, {"ts_from": ts_from, "ts_until": ts_until})
    connection.execute(statement("ingest/cpu_slice_async.sql"), {"trace_id": trace_id})
    return sum(stack.cut for stack in stacks.values()), sum(stack.overlapping for stack in stacks.values())


def _nest_window(
    connection: duckdb.DuckDBPyConnection, trace_id: int, stacks: Mapping[int, Stack], window: dict[str, int]
) -> None:
    rows = connection.sql(statement("ingest/cpu_slice_ordered.sql"), params=window).to_arrow_table()
    if not rows.num_rows:
        return
    keys = {name: rows[name].to_numpy() for name in ("thread_id", "slice_id", "nesting_kind", "ts", "ts_end")}
    places = []
    first_of_thread = np.flatnonzero(np.diff(keys["thread_id"], prepend=-1))
    for first, last in pairwise([*first_of_thread.tolist(), rows.num_rows]):
        stack = stacks[int(keys["thread_id"][first])]
        of_thread = [keys[name][first:last] for name in ("slice_id", "nesting_kind", "ts", "ts_end")]
        places.append(place_nested(stack, *of_thread) or stack.place(*(column.tolist() for column in of_thread)))
    for name, parts in zip(Places._fields, zip(*places, strict=True), strict=True):
        values = np.concatenate(parts)
        rows = rows.append_column(name, pa.array(values, pa.int64(), mask=values == NOBODY))
    connection.register("_nested", rows)
    connection.execute(statement("ingest/cpu_slice_insert.sql"), {"trace_id": trace_id})
    connection.unregister("_nested")
