"""Lanes: slices of one track that overlap without nesting are drawn side by side, because viewers drop them otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from traceq.database.query import Setting
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb


T = TypeVar("T")

# The tracks of which the file overlap_PLACE.sql lists what may not nest.
_PLACES = ("host", "stream", "annotation", "synchronization")

_ROWS = 10_000

# Programs have a few streams. With more of them, those of graphs are branches.
_MOST_STREAMS = 8


def nest_slices(slices: Iterable[tuple[T, int, int]]) -> Iterator[tuple[T, int]]:
    """Yield each slice's item with the number of the lane on which it is drawn; slices are (item, start, end), of one track.

    They must come by start, the longest first among equal starts. The lane is the first, from 0, on which the slice
    either lies within the open slices or begins after them.
    """
    open_ends: list[list[int]] = []
    for what, ts, ts_end in slices:
        for lane, ends in enumerate(open_ends):
            while ends and ends[-1] <= ts:
                ends.pop()
            if not ends or ts_end <= ends[-1]:
                ends.append(ts_end)
                yield what, lane
                break
        else:
            open_ends.append([ts_end])
            yield what, len(open_ends) - 1


def pack_slices(slices: Iterable[tuple[T, int, int]]) -> Iterator[tuple[T, int]]:
    """Yield each slice's item with the number of the first lane, from 0, that is free from its start on.

    Slices are (item, start, end), of one track, by start.
    """
    ends: list[int] = []
    for what, ts, ts_end in slices:
        lane = next((lane for lane, end in enumerate(ends) if end <= ts), len(ends))
        ends[lane:] = [ts_end, *ends[lane + 1 :]]
        yield what, lane


def assign_lanes(connection: duckdb.DuckDBPyConnection, trace_id: Setting) -> None:
    """Add to the table _lane the trace's slices that are drawn on another lane than the first of their track.

    The work of graphs on many streams is drawn on lanes by its role instead.
    """
    _assign_roles(connection, trace_id)
    for place in _PLACES:
        found = [(slice_id, lane) for slice_id, lane in _find_lanes(connection, place, trace_id) if lane]
        if found:
            slice_ids, numbers = zip(*found, strict=True)
            connection.execute(
                "insert into _lane select $place, unnest($slice_ids::bigint[]), unnest($numbers::integer[]), null",
                {"place": place, "slice_ids": list(slice_ids), "numbers": list(numbers)},
            )


def _assign_roles(connection: duckdb.DuckDBPyConnection, trace_id: Setting) -> None:
    """Add to the table _lane the work of graphs on many streams, with role and lane."""
    found = run(connection, "exports/sql/graph_role.sql", trace_id=trace_id, most_streams=_MOST_STREAMS)
    places = [
        (slice_id, lane, track["role"])
        for track, rows in groupby(fetch_rows(found), key=itemgetter(0))
        for slice_id, lane in pack_slices((slice_id, ts, ts_end) for _, slice_id, ts, ts_end in rows)
    ]
    if places:
        slice_ids, numbers, roles = zip(*places, strict=True)
        connection.execute(
            "insert into _lane"
            " select 'stream', unnest($slice_ids::bigint[]), unnest($numbers::integer[]), unnest($roles::bigint[])",
            {"slice_ids": list(slice_ids), "numbers": list(numbers), "roles": list(roles)},
        )


def _find_lanes(connection: duckdb.DuckDBPyConnection, place: str, trace_id: Setting) -> Iterator[tuple[int, int]]:
    """Yield the id and the lane of each slice of the tracks of a kind (`place`)."""
    cursor = connection.execute(statement(f"exports/sql/overlap_{place}.sql"), {"trace_id": trace_id})
    for _, rows in groupby(fetch_rows(cursor), key=itemgetter(0)):
        yield from nest_slices((slice_id, ts, ts_end) for _, slice_id, ts, ts_end in rows)


def fetch_rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an executed query, fetched 10,000 at a time."""
    while rows := cursor.fetchmany(_ROWS):
        yield from rows
