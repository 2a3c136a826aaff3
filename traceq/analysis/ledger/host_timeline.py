"""Timeline of the innermost slice on each host thread: one pass over the slices of all threads, block by block."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.analysis.ledger.host_slices import HostSlices
from traceq.analysis.ledger.innermost import NOTHING, Points, join_points, make_points, merge_points, take_points
from traceq.database.sql import relation, run, statement
from traceq.database.tables import insert_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from traceq.analysis.ledger.innermost import Flags, Numbers

_NAMES = "select enum_range(null::host_activity), enum_range(null::host_phase)"

_ROWS_PER_BLOCK = 3 * 122_880

_FIRST_TIME, _LAST_TIME = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_LAST_THREAD = np.iinfo(np.int32).max


class _Block(NamedTuple):
    """A part of all host slices by thread and time (ns): from `ts` on `thread` to before `ts_end` on `last_thread`."""

    thread: int
    ts: int
    last_thread: int
    ts_end: int


def fill_host_timeline(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table _host_timeline, the innermost slice and activity of each host thread over time.

    _host_extent gets the first and last row of each thread in it.
    """
    run(connection, "analysis/ledger/host_timeline.sql")
    threads = relation(connection, "select distinct thread_id from cpu_slice order by thread_id").to_arrow_table()
    ids = threads["thread_id"].to_numpy()
    begins = make_points(ids, np.full(len(ids), _FIRST_TIME), rank=0, phase=NOTHING, state=NOTHING)
    writer = _TimelineWriter(connection)
    before = pending = take_points(begins, slice(0))
    for block in _split_blocks(connection):
        begun = take_points(begins, (begins.thread > block.thread) & (begins.thread <= block.last_thread))
        starts, ends = _read_bounds(connection, block)
        ends = join_points(pending, ends)
        is_later = (ends.thread == block.last_thread) & (ends.ts >= block.ts_end)
        pending = take_points(ends, is_later)
        found, is_bound = merge_points(
            join_points(before, begun, starts, take_points(ends, ~is_later), _read_others(connection, block))
        )
        writer.write(take_points(found, slice(len(before.ts), None)), is_bound[len(before.ts) :])
        # What goes on into the next block, as if it began with the thread.
        before = take_points(found, slice(-1, None))._replace(ts=begins.ts[:1], rank=begins.rank[:1])
    writer.finish()


def _split_blocks(connection: duckdb.DuckDBPyConnection) -> Iterator[_Block]:
    """Yield blocks of about _ROWS_PER_BLOCK slices that cover all threads and times, in order."""
    for first, last in pairwise(
        [(-1, _FIRST_TIME), *dict.fromkeys(_find_cuts(connection)), (_LAST_THREAD, _LAST_TIME)]
    ):
        yield _Block(*first, *last)


def _find_cuts(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, int]]:
    """Return the places between one block and the next: pairs of thread and time (ns), in order."""
    return run(connection, "analysis/ledger/host_block.sql", rows=_ROWS_PER_BLOCK).fetchall()


def _read_bounds(connection: duckdb.DuckDBPyConnection, block: _Block) -> tuple[Points, Points]:
    """Return the points where the slices of a block start, and the points where they end."""
    rows = relation(connection, statement("analysis/ledger/host_span.sql"), **block._asdict()).to_arrow_table()
    thread, ts, ts_end, slice_id, depth = (
        rows[name].to_numpy() for name in ("thread_id", "ts", "ts_end", "slice_id", "depth")
    )
    # The deepest of those that start, else what is around the outermost of those that end.
    starts = make_points(thread, ts, rank=depth + 1, slice_id=slice_id)
    ends = make_points(thread, ts_end, rank=-rows["depth_at_end"].to_numpy(), slice_id=rows["around"].to_numpy())
    return starts, take_points(ends, rows["ends_in_sight"].to_numpy())


def _read_others(connection: duckdb.DuckDBPyConnection, block: _Block) -> Points:
    """Return the points of a block where an autograd pass begins or ends, or where a thread is switched in or out."""
    rows = relation(connection, statement("analysis/ledger/host_point.sql"), **block._asdict()).to_arrow_table()
    thread, ts, phase, state = (rows[name].to_numpy() for name in ("thread_id", "ts", "phase", "state"))
    return make_points(thread, ts, phase=phase, state=state)


class _TimelineWriter:
    """Writes segments into _host_timeline, and finally each thread's rows into _host_extent."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._host = HostSlices(connection)
        ((self._activities, self._phases),) = connection.execute(_NAMES).fetchall()
        self._none, self._annotation, self._cpu = map(self._activities.index, ("none", "annotation", "cpu"))
        others = relation(connection, "from _thread_without_python").to_arrow_table()
        self._without_python = others["thread_id"].to_numpy()
        self._rows: Counter[int] = Counter()

    def write(self, found: Points, is_bound: Flags) -> None:
        """Write the timeline segments that begin at the points into _host_timeline.

        `is_bound` marks points that always begin a segment. Others, where only the thread's state changes, do so only while the
        host is idle or in an annotation.
        """
        activity, phase, waits_in = self._host.doing(found.slice_id)
        is_idle, is_range = activity == self._none, activity == self._annotation
        starts = is_bound | is_idle | is_range
        is_other = is_range & np.isin(found.thread, self._without_python)
        is_known = found.state != NOTHING
        if is_known.any() or is_other.any():
            unknown = np.where(is_other, self._cpu, activity)
            activity = np.where(is_idle | is_other, np.where(is_known, found.state, unknown), activity)
        phase = np.where((phase == 0) & (found.phase != NOTHING), found.phase, phase)
        columns = (found.thread, found.ts, found.slice_id, activity, phase, waits_in)
        thread, ts, slice_id, activity, phase, waits_in = (
            columns if starts.all() else (column[starts] for column in columns)
        )
        segments = pa.table(
            {
                "thread_id": thread,
                "ts": ts,
                "slice_id": _to_ids(slice_id),
                "activity": _to_names(activity, self._activities),
                "phase": _to_names(phase, self._phases),
                "synchronizing_id": _to_ids(waits_in),
            }
        )
        insert_rows(self._connection, "_host_timeline", segments)
        threads, rows = np.unique(thread, return_counts=True)
        self._rows.update(dict(zip(threads.tolist(), rows.tolist(), strict=True)))

    def finish(self) -> None:
        """Write into _host_extent the first and last row of each thread in the timeline."""
        ends = list(accumulate(self._rows.values()))
        extents = pa.table(
            {
                "thread_id": pa.array(self._rows, pa.int32()),
                "first": pa.array([0, *ends][:-1], pa.int64()),
                "last": pa.array([end - 1 for end in ends], pa.int64()),
            }
        )
        insert_rows(self._connection, "_host_extent", extents)


def _to_ids(values: Numbers) -> pa.Array:
    """Return an Arrow array of ids, NULL for NOTHING."""
    return pa.array(values, pa.int64(), mask=values == NOTHING)


def _to_names(numbers: Numbers, names: list[str]) -> pa.DictionaryArray:
    """Return an Arrow dictionary array: the element of `names` for each number."""
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int8)), pa.array(names))
