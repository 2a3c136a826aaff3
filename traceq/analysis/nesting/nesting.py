"""Depth, parent and enclosing operator and annotation of every host slice, thread by thread.

A thread's slices nearly always nest; then array operations handle all at once (levels.py). Otherwise, and where they nest very
deeply, a stack does, one slice after the other (stack.py).
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from traceq.analysis.nesting.levels import place_nested
from traceq.analysis.nesting.stack import NEVER, NOBODY, Around, OpenSlices
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import duckdb

    from traceq.analysis.nesting.stack import Integers

# How many slices of a thread are placed at once where they nest, and where they do not: at least.
_BY_ARRAYS = 16_384
_BY_STACK = 256
# Arrays take for a level of nesting as long as the stack takes for so many slices.
_LEAST_PER_LEVEL = 16

# Sorted, swept and inserted at a time.
_ROWS_PER_WINDOW = 3 * 122_880


def nest_slices(
    connection: duckdb.DuckDBPyConnection, trace_id: int, commit: Callable[[], None] = lambda: None
) -> tuple[int, int]:
    """Fill cpu_slice from staging.cpu_slice, with depth and enclosing slices; return how many slices end after their parent.

    The first number counts slices that do so within rounding (1 us), the second those beyond. They go into the temporary
    tables _slice_cut, _slice_ended_under and _slice_outlasting. Where several windows are needed, `commit` is called
    after each: DuckDB holds uncommitted rows in memory, beyond its limit.
    """
    stacks: defaultdict[int, OpenSlices] = defaultdict(OpenSlices)
    cuts = run(connection, "analysis/nesting/cpu_slice_windows.sql", rows=_ROWS_PER_WINDOW).fetchall()
    if cuts:  # what a first try committed before it ran out of memory
        connection.execute("delete from cpu_slice where trace_id = $1", [trace_id])
    for ts_from, ts_until in pairwise([-NEVER, *dict.fromkeys(ts for (ts,) in cuts), NEVER - 1]):
        _nest_window(connection, trace_id, stacks, {"ts_from": ts_from, "ts_until": ts_until})
        if cuts:
            commit()
    run(connection, "analysis/nesting/cpu_slice_async.sql", trace_id=trace_id)
    cut = {slice_id: end for stack in stacks.values() for slice_id, end in stack.cut.items()}
    outlasting = [late for stack in stacks.values() for late in stack.outlasting]
    _keep(connection, "_slice_cut", {"slice_id": cut, "ts_end": cut.values()})
    _keep(
        connection,
        "_slice_ended_under",
        {"slice_id": {ended for late in outlasting for ended in late.ended}},
    )
    _keep(
        connection,
        "_slice_outlasting",
        {name: [getattr(late, name) for late in outlasting] for name in ("slice_id", "inside", "depth")},
    )
    return len(cut), len(outlasting)


def _keep(connection: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Iterable[int]]) -> None:
    """Make a temporary table `table` with these integer columns."""
    arrow = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
    connection.register("_kept", arrow)
    connection.execute(f"create temp table {table} as from _kept")
    connection.unregister("_kept")


def _nest_window(
    connection: duckdb.DuckDBPyConnection, trace_id: int, stacks: Mapping[int, OpenSlices], window: dict[str, int]
) -> None:
    """Nest the staged slices that start in a window of time, and insert them into cpu_slice.

    `stacks` holds each thread's open slices from the window before, and is changed. `window` has ts_from and ts_until, ns.
    """
    rows = relation(connection, statement("analysis/nesting/cpu_slice_ordered.sql"), **window).to_arrow_table()
    if not rows.num_rows:
        return
    keys = {name: rows[name].to_numpy() for name in ("thread_id", "slice_id", "nesting_kind", "ts", "ts_end")}
    places: list[list[Sequence[int] | Integers]] = []
    first_of_thread = np.flatnonzero(np.diff(keys["thread_id"], prepend=-1))
    for first, last in pairwise([*first_of_thread.tolist(), rows.num_rows]):
        stack = stacks[int(keys["thread_id"][first])]
        of_thread = [keys[name][first:last] for name in ("slice_id", "nesting_kind", "ts", "ts_end")]
        places += _place_slices(stack, of_thread)
    for name, parts in zip(("depth", "parent_id", *Around._fields), zip(*places, strict=True), strict=True):
        values = np.concatenate(parts)
        rows = rows.append_column(name, pa.array(values, pa.int64(), mask=values == NOBODY))
    connection.register("_nested", rows)
    run(connection, "analysis/nesting/cpu_slice_insert.sql", trace_id=trace_id)
    connection.unregister("_nested")


def _place_slices(stack: OpenSlices, slices: list[Integers]) -> Iterator[list[Sequence[int] | Integers]]:
    """Yield depth, parent and the fields of Around of a thread's slices, as columns, batch by batch.

    `slices` are the columns slice_id, nesting_kind, ts and ts_end. Arrays place the slices up to one that does not nest, and
    `stack` goes on from there.
    """
    first, count, many, few = 0, len(slices[0]), _BY_ARRAYS, _BY_STACK
    while first < count:
        ids, kinds, starts, ends = (column[first : first + many] for column in slices)
        placed = place_nested(stack, ids, kinds, starts, ends, _LEAST_PER_LEVEL)
        yield [placed.depth, placed.parent_id, *placed.around]
        first += len(placed.depth)
        if len(placed.depth) == many:
            many *= 2
        elif first < count:
            # Where many do not nest, or all do deeply, arrays are tried less and less often.
            few = _BY_STACK if len(placed.depth) > few else 2 * few
            many = _BY_ARRAYS
            placed = stack.place(*(column[first : first + few].tolist() for column in slices))
            yield [placed.depth, placed.parent_id, *placed.around]
            first += len(placed.depth)
