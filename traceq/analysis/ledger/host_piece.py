"""Cuts intervals at the boundaries of what their host thread did: one pass with arrays over the timeline of each thread."""

from __future__ import annotations

from itertools import pairwise, starmap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.database.sql import relation, run, statement

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


class Pieces(NamedTuple):
    """Parts of intervals, one entry a part: positions of its interval and of its segment, its start and end in ns."""

    interval: Integers
    segment: Integers
    ts: Integers
    ts_end: Integers


class _Thread(NamedTuple):
    """The rows of a thread's timeline, from `first` to `last`, and how many intervals it has."""

    thread_id: int
    first: int
    last: int
    intervals: int


def cut_intervals(connection: duckdb.DuckDBPyConnection) -> None:
    """Add to _host_piece the pieces of each of _host_interval; they add up to it.

    The intervals of one lane and thread do not overlap.
    """
    for threads in _together(run(connection, "analysis/ledger/host_timeline_extent.sql").fetchall()):
        if len(threads) > 1:
            _cut_threads(connection, threads)
        else:
            _cut_thread(connection, *threads)


def _together(threads: list[tuple[int, int, int, int]]) -> Iterator[list[_Thread]]:
    """Neighbouring threads that fit into one block, or one that may not: a trace can have 100,000, and each query its cost."""
    group: list[_Thread] = []
    intervals = 0
    for each in starmap(_Thread, threads):
        intervals += each.intervals
        if group and (each.last - group[0].first >= _ROWS_PER_BLOCK or intervals > _INTERVALS_AT_ONCE):
            yield group
            group, intervals = [], each.intervals
        group.append(each)
    if group:
        yield group


def _cut_thread(connection: duckdb.DuckDBPyConnection, thread: _Thread) -> None:
    """Cut the intervals of a thread, block by block of its timeline."""
    thread_id, first, last, intervals = thread
    blocks = (last - first) // _ROWS_PER_BLOCK + 1
    # Of a block and a part of it at a time: all of a large trace would take hundreds of megabytes.
    parts = intervals // (blocks * _INTERVALS_AT_ONCE) + 1
    for bounds, segments in _blocks(connection, first, last):
        for part in range(parts):
            window = {"ts": int(bounds[0]), "ts_end": int(bounds[-1]), "parts": parts, "part": part}
            ids, _, lanes, ts, ts_end = _intervals(connection, thread_id, thread_id, window)
            for lane in _lanes(lanes):
                pieces = cut(ts[lane], ts_end[lane], bounds)
                pieces = pieces._replace(interval=ids[lane][pieces.interval])
                _insert(connection, np.full(len(pieces.interval), thread_id, np.int32), pieces, segments)


def _cut_threads(connection: duckdb.DuckDBPyConnection, threads: Sequence[_Thread]) -> None:
    """Cut the intervals of several threads, whose timelines are one block."""
    row = threads[0].first
    ((bounds, segments),) = _blocks(connection, row, threads[-1].last)
    ids, owner, lanes, ts, ts_end = _intervals(connection, threads[0].thread_id, threads[-1].thread_id, _ALWAYS)
    found: list[Pieces] = []
    owners: list[npt.NDArray[np.int32]] = []
    waiting = 0
    for each in threads:
        own = np.append(bounds[each.first - row : each.last - row + 1], _FOREVER)
        begin, end = np.searchsorted(owner, [each.thread_id, each.thread_id + 1]).tolist()
        for lane in _lanes(lanes[begin:end]):
            here = slice(begin + lane.start, begin + lane.stop)
            pieces = cut(ts[here], ts_end[here], own)
            found.append(
                pieces._replace(interval=ids[here][pieces.interval], segment=pieces.segment + (each.first - row))
            )
            owners.append(np.full(len(pieces.interval), each.thread_id, np.int32))
            waiting += len(pieces.interval)
            if waiting >= _PIECES_AT_ONCE:
                _insert_all(connection, owners, found, segments)
                found, owners, waiting = [], [], 0
    if found:
        _insert_all(connection, owners, found, segments)


def _intervals(
    connection: duckdb.DuckDBPyConnection, first_thread: int, last_thread: int, window: dict[str, int]
) -> list[Integers]:
    """Columns of host_interval.sql."""
    asked = {"first_thread": first_thread, "last_thread": last_thread, **window}
    found = relation(connection, statement("analysis/ledger/host_interval.sql"), **asked).to_arrow_table()
    return [column.to_numpy() for column in found.columns]


def _lanes(lanes: Integers) -> Iterator[slice]:
    """Where the intervals of each lane are, when sorted by lane."""
    changes = np.flatnonzero(np.diff(lanes)) + 1
    for begin, end in pairwise([0, *changes.tolist(), len(lanes)]) if len(lanes) else ():
        yield slice(begin, end)


def _blocks(connection: duckdb.DuckDBPyConnection, first: int, last: int) -> Iterator[tuple[Integers, pa.Table]]:
    """Segments of a timeline, rows `first` to `last`, block by block: where they begin and the last ends; what they are."""
    for row in range(first, max(last, first + 1), _ROWS_PER_BLOCK):
        # One row more says where the block's last segment ends.
        window = {"first": row, "last": min(row + _ROWS_PER_BLOCK, last)}
        segments = relation(connection, statement("analysis/ledger/host_segment.sql"), **window).to_arrow_table()
        bounds = segments["ts"].to_numpy()
        yield (np.append(bounds, _FOREVER) if window["last"] == last else bounds), segments.drop_columns("ts")


def _insert_all(
    connection: duckdb.DuckDBPyConnection,
    threads: Sequence[npt.NDArray[np.int32]],
    pieces: Sequence[Pieces],
    segments: pa.Table,
) -> None:
    _insert(connection, np.concatenate(threads), Pieces(*map(np.concatenate, zip(*pieces, strict=True))), segments)


def _insert(
    connection: duckdb.DuckDBPyConnection, threads: npt.NDArray[np.int32], pieces: Pieces, segments: pa.Table
) -> None:
    """Add pieces to _host_piece; their intervals are ids here."""
    if not len(threads):
        return
    # DuckDB finds the variable by its name. A registered table would be kept until the transaction ends, every block of it.
    found_piece = segments.take(pa.array(pieces.segment))
    columns = {"interval_id": pieces.interval, "thread_id": threads, "ts": pieces.ts, "ts_end": pieces.ts_end}
    for name, column in columns.items():
        found_piece = found_piece.append_column(name, pa.array(column))
    connection.execute(statement("analysis/ledger/host_piece.sql"))


def cut(ts: Integers, ts_end: Integers, bounds: Integers) -> Pieces:
    """The parts of intervals, in order and apart, that lie in the segments between neighbouring `bounds`."""
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
