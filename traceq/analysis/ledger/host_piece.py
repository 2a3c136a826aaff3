"""Cuts intervals at the boundaries of what their host thread did: one pass with arrays over the timeline of each thread."""

from __future__ import annotations

from itertools import pairwise, starmap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.database.sql import relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers

_ROWS_PER_BLOCK = 3 * 122_880
_INTERVALS_AT_ONCE = 400_000
_PIECES_AT_ONCE = 400_000

# After every time there is.
_FOREVER = np.iinfo(np.int64).max
_ALWAYS = {"ts": -_FOREVER, "ts_end": _FOREVER, "parts": 1, "part": 0}

# Names of tables stand in braces: query_table() knows no rowid.

# The rows of each thread in the timeline and its number of intervals. Row ids of a table begin elsewhere until it is committed.
_THREADS = """
select e.thread_id, t.first + e.first as first, t.first + e.last as last, i.intervals
from {extent} as e
cross join (select min(rowid) as first from {timeline}) as t
inner join (select thread_id, count(*) as intervals from {intervals} group by thread_id) as i using (thread_id)
order by e.thread_id
"""

# A block of a timeline in the order of time: so it is stored, and so a scan returns it.
_SEGMENTS = """
select ts, slice_id, activity, phase, synchronizing_id
from {timeline}
where rowid between $first and $last
"""

# Intervals of some threads in a window of time, or the $part-th of $parts of them, as they are swept.
_INTERVALS = """
select interval_id, thread_id, lane, ts, ts_end
from {intervals}
where
    thread_id between $first_thread and $last_thread and ts_end > ts and ts < $ts_end and ts_end > $ts
    and interval_id % $parts = $part
order by thread_id, lane, ts
"""

_TABLE = """
create or replace temp table {pieces}
(
    interval_id bigint,
    ts bigint,
    ts_end bigint,
    thread_id integer,
    slice_id bigint,
    activity host_activity,
    phase host_phase,
    synchronizing_id bigint
)
"""


class Pieces(NamedTuple):
    """Parts of intervals, one array element a part: index of its interval and of its timeline segment, start and end in ns."""

    interval: Integers
    segment: Integers
    ts: Integers
    ts_end: Integers


class _Thread(NamedTuple):
    """The row ids `first` to `last` (inclusive) of a thread's timeline, and how many intervals the thread has."""

    thread_id: int
    first: int
    last: int
    intervals: int


def cut_intervals(connection: duckdb.DuckDBPyConnection, intervals: str, pieces: str, owner: str = "host") -> None:
    """Make the temporary table `pieces`: the intervals of table `intervals`, cut at the boundaries of a host timeline.

    `intervals` has interval_id, lane, thread_id, ts and ts_end in ns; intervals of a lane and thread do not overlap. A piece
    has the activity of its segment. The timeline is the table _OWNER_timeline (`owner`); _OWNER_extent has the rows of each
    thread in it, from 0.
    """
    connection.execute(_TABLE.format(pieces=pieces))
    cutter = _Cutter(connection, intervals, pieces, owner)
    for threads in _group_threads(cutter.threads()):
        if len(threads) > 1:
            cutter.cut_threads(threads)
        else:
            cutter.cut_thread(threads[0])


def _group_threads(threads: list[tuple[int, int, int, int]]) -> Iterator[list[_Thread]]:
    """Yield groups of neighbouring threads whose rows fit into one block; a thread that is too large is a group of its own.

    A trace can have 100,000 threads, and each query has its cost. `threads` are rows of the fields of _Thread.
    """
    group: list[_Thread] = []
    intervals = 0
    for thread in starmap(_Thread, threads):
        intervals += thread.intervals
        if group and (thread.last - group[0].first >= _ROWS_PER_BLOCK or intervals > _INTERVALS_AT_ONCE):
            yield group
            group, intervals = [], thread.intervals
        group.append(thread)
    if group:
        yield group


class _Cutter:
    """Cuts the intervals of one table at one host timeline, and inserts the pieces."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, intervals: str, pieces: str, owner: str) -> None:
        self._connection, self._pieces = connection, pieces
        tables = {"intervals": intervals, "timeline": f"_{owner}_timeline", "extent": f"_{owner}_extent"}
        self._threads, self._segments, self._intervals = (
            query.format(**tables) for query in (_THREADS, _SEGMENTS, _INTERVALS)
        )

    def threads(self) -> list[tuple[int, int, int, int]]:
        """Return a row (fields of _Thread) for each thread that has intervals, in the order of the timeline."""
        return self._connection.execute(self._threads).fetchall()

    def cut_thread(self, thread: _Thread) -> None:
        """Cut the intervals of one thread, block by block of its timeline, and insert the pieces."""
        thread_id, first, last, intervals = thread
        blocks = (last - first) // _ROWS_PER_BLOCK + 1
        # Of a block and a part of it at a time: all of a large trace would take hundreds of megabytes.
        parts = intervals // (blocks * _INTERVALS_AT_ONCE) + 1
        for bounds, segments in self._blocks(first, last):
            for part in range(parts):
                window = {"ts": int(bounds[0]), "ts_end": int(bounds[-1]), "parts": parts, "part": part}
                ids, _, lanes, ts, ts_end = self._read_intervals(thread_id, thread_id, window)
                for lane in _split_lanes(lanes):
                    pieces = cut_at_bounds(ts[lane], ts_end[lane], bounds)
                    pieces = pieces._replace(interval=ids[lane][pieces.interval])
                    self._insert(np.full(len(pieces.interval), thread_id, np.int32), pieces, segments)

    def cut_threads(self, threads: Sequence[_Thread]) -> None:
        """Cut the intervals of several threads whose timelines together fit into one block, and insert the pieces."""
        row = threads[0].first
        ((bounds, segments),) = self._blocks(row, threads[-1].last)
        ids, owner, lanes, ts, ts_end = self._read_intervals(threads[0].thread_id, threads[-1].thread_id, _ALWAYS)
        found: list[Pieces] = []
        owners: list[npt.NDArray[np.int32]] = []
        waiting = 0
        for thread in threads:
            own = np.append(bounds[thread.first - row : thread.last - row + 1], _FOREVER)
            begin, end = np.searchsorted(owner, [thread.thread_id, thread.thread_id + 1]).tolist()
            for lane in _split_lanes(lanes[begin:end]):
                here = slice(begin + lane.start, begin + lane.stop)
                pieces = cut_at_bounds(ts[here], ts_end[here], own)
                found.append(
                    pieces._replace(interval=ids[here][pieces.interval], segment=pieces.segment + (thread.first - row))
                )
                owners.append(np.full(len(pieces.interval), thread.thread_id, np.int32))
                waiting += len(pieces.interval)
                if waiting >= _PIECES_AT_ONCE:
                    self._insert_all(owners, found, segments)
                    found, owners, waiting = [], [], 0
        if found:
            self._insert_all(owners, found, segments)

    def _read_intervals(self, first_thread: int, last_thread: int, window: dict[str, int]) -> list[Integers]:
        """Return columns of the intervals of threads `first_thread` to `last_thread` in the window.

        They are interval_id, thread_id, lane, ts and ts_end (ns); `window` also says which part of the intervals to read.
        """
        bounds = {"first_thread": first_thread, "last_thread": last_thread, **window}
        found = relation(self._connection, self._intervals, **bounds).to_arrow_table()
        return [column.to_numpy() for column in found.columns]

    def _blocks(self, first: int, last: int) -> Iterator[tuple[Integers, pa.Table]]:
        """Yield rows `first` to `last` of a timeline, block by block: bounds of the segments in ns, and their other columns.

        There is one bound more than segments: the end of the last segment.
        """
        for row in range(first, max(last, first + 1), _ROWS_PER_BLOCK):
            # One row more says where the block's last segment ends.
            window = {"first": row, "last": min(row + _ROWS_PER_BLOCK, last)}
            segments = relation(self._connection, self._segments, **window).to_arrow_table()
            bounds = segments["ts"].to_numpy()
            yield (np.append(bounds, _FOREVER) if window["last"] == last else bounds), segments.drop_columns("ts")

    def _insert_all(
        self, threads: Sequence[npt.NDArray[np.int32]], pieces: Sequence[Pieces], segments: pa.Table
    ) -> None:
        """Insert several arrays of pieces at once; `threads` holds the thread of each piece."""
        self._insert(np.concatenate(threads), Pieces(*map(np.concatenate, zip(*pieces, strict=True))), segments)

    def _insert(self, threads: npt.NDArray[np.int32], pieces: Pieces, segments: pa.Table) -> None:
        """Insert pieces into their table; their `interval` holds interval ids here instead of indices."""
        if not len(threads):
            return
        # DuckDB finds the variable by its name. A registered table would be kept until the transaction ends, every block of it.
        found_piece = segments.take(pa.array(pieces.segment))
        columns = {"interval_id": pieces.interval, "thread_id": threads, "ts": pieces.ts, "ts_end": pieces.ts_end}
        for name, column in columns.items():
            found_piece = found_piece.append_column(name, pa.array(column))
        self._connection.execute(f"insert into {self._pieces} by name from found_piece")


def _split_lanes(lanes: Integers) -> Iterator[slice]:
    """Yield the slice of indices of each lane; `lanes` is the lane of each interval, sorted."""
    changes = np.flatnonzero(np.diff(lanes)) + 1
    for begin, end in pairwise([0, *changes.tolist(), len(lanes)]) if len(lanes) else ():
        yield slice(begin, end)


def cut_at_bounds(ts: Integers, ts_end: Integers, bounds: Integers) -> Pieces:
    """Return the pieces of intervals cut at `bounds` (ns); segment `i` lies between `bounds[i]` and `bounds[i + 1]`.

    The intervals are sorted and do not overlap. What lies before the first or after the last bound is dropped.
    """
    first = int(np.searchsorted(ts_end, bounds[0], side="right"))
    last = int(np.searchsorted(ts, bounds[-1], side="left"))
    ts, ts_end = ts[first:last], ts_end[first:last]
    segment = np.maximum(np.searchsorted(bounds, ts, side="right") - 1, 0)
    counts = np.minimum(np.searchsorted(bounds, ts_end, side="left"), len(bounds) - 1) - segment
    owner = np.repeat(np.arange(last - first), counts)
    segment = np.arange(len(owner)) + np.repeat(segment - (np.cumsum(counts) - counts), counts)
    return Pieces(
        owner + first,
        segment,
        np.maximum(bounds[segment], ts[owner]),
        np.minimum(bounds[segment + 1], ts_end[owner]),
    )
