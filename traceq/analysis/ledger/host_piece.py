"""Cuts intervals at the boundaries of what their host thread did: one pass with arrays over the timeline of each thread."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from traceq.analysis.nesting.stack import Integers

_ROWS_PER_BLOCK = 3 * 122_880
_INTERVALS_AT_ONCE = 400_000

# After every time there is.
_FOREVER = np.iinfo(np.int64).max


class Pieces(NamedTuple):
    """Parts of intervals, one entry a part: positions of its interval and of its segment, its start and end in ns."""

    interval: Integers
    segment: Integers
    ts: Integers
    ts_end: Integers


def cut_intervals(connection: duckdb.DuckDBPyConnection) -> None:
    """Add to _host_piece the pieces of each of _host_interval; they add up to it.

    The intervals of one lane and thread do not overlap.
    """
    for thread, first, last, intervals in run(connection, "analysis/ledger/host_timeline_extent.sql").fetchall():
        blocks = (last - first) // _ROWS_PER_BLOCK + 1
        # Of a block and a part of it at a time: all of a large trace would take hundreds of megabytes.
        parts = intervals // (blocks * _INTERVALS_AT_ONCE) + 1
        for bounds, segments in _blocks(connection, first, last):
            for part in range(parts):
                window = {"ts": int(bounds[0]), "ts_end": int(bounds[-1]), "parts": parts, "part": part}
                _cut_window(connection, thread, window, bounds, segments)


def _cut_window(
    connection: duckdb.DuckDBPyConnection, thread: int, window: dict[str, int], bounds: Integers, segments: pa.Table
) -> None:
    chosen = {"thread_id": thread, **window}
    intervals = relation(connection, statement("analysis/ledger/host_interval.sql"), **chosen).to_arrow_table()
    ids, ts, ts_end = (intervals[name].to_numpy() for name in ("interval_id", "ts", "ts_end"))
    for lane in _lanes(intervals["lane"].to_numpy()):
        pieces = cut(ts[lane], ts_end[lane], bounds)
        _insert(connection, thread, ids[lane][pieces.interval], pieces, segments)


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


def _insert(
    connection: duckdb.DuckDBPyConnection, thread: int, intervals: Integers, pieces: Pieces, segments: pa.Table
) -> None:
    if not len(intervals):
        return
    # DuckDB finds the variable by its name. A registered table would be kept until the transaction ends, every block of it.
    found_piece = segments.take(pa.array(pieces.segment))
    for name, column in (("interval_id", intervals), ("ts", pieces.ts), ("ts_end", pieces.ts_end)):
        found_piece = found_piece.append_column(name, pa.array(column))
    connection.execute(statement("analysis/ledger/host_piece.sql"), {"thread_id": thread})


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
