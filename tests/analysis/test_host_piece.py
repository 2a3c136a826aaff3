"""Cutting intervals at the boundaries of a timeline, block by block, against looking at every nanosecond."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.analysis.ledger import host_piece

TIME = st.integers(0, 30)


def join_numbers(values):
    return np.array(values, np.int64)


@given(
    edges=st.lists(TIME, max_size=8, unique=True).map(sorted),
    bounds=st.lists(TIME, min_size=2, max_size=8, unique=True).map(sorted),
)
def test_pieces_are_where_interval_and_segment_meet(edges, bounds):
    intervals = list(zip(edges[::2], edges[1::2], strict=False))
    pieces = host_piece.cut_at_bounds(
        join_numbers([ts for ts, _ in intervals]), join_numbers([end for _, end in intervals]), join_numbers(bounds)
    )
    expected = [
        (number, segment, max(ts, begin), min(ts_end, end))
        for number, (ts, ts_end) in enumerate(intervals)
        for segment, (begin, end) in enumerate(pairwise(bounds))
        if max(ts, begin) < min(ts_end, end)
    ]
    assert list(zip(*(column.tolist() for column in pieces), strict=True)) == expected


TABLES = """
    create type host_activity as enum ('os');
    create type host_phase as enum ('other');
    create temp table _host_timeline as
    from
        (values (1, -1000, null), (1, 2, 10), (1, 8, 11), (1, 11, null), (2, -1000, null), (2, 3, 20))
        as t (thread_id, ts, slice_id),
        (select 'os' as activity, 'other' as phase, null::bigint as synchronizing_id);
    create temp table _host_extent as
    from (values (1, 0, 3), (2, 4, 5)) as t (thread_id, first, last);
    create temp table _interval as
    from (values (0, 0, 1, 0, 5), (1, 0, 1, 7, 18), (2, 1, 1, 4, 9), (3, 0, 2, 5, 6), (4, 0, 2, 6, 6))
    as t (interval_id, lane, thread_id, ts, ts_end);
"""
PIECES = [
    (0, 0, 2, 1, None),
    (0, 2, 5, 1, 10),
    (1, 7, 8, 1, 10),
    (1, 8, 11, 1, 11),
    (1, 11, 18, 1, None),
    (2, 4, 8, 1, 10),
    (2, 8, 9, 1, 11),
    (3, 5, 6, 2, 20),
]


@pytest.mark.parametrize("pieces", [1, 3, 100])
@pytest.mark.parametrize("intervals", [1, 2, 100])
@pytest.mark.parametrize("rows", range(1, 7))
def test_any_size_of_blocks_and_parts_makes_the_same_pieces(rows, intervals, pieces, monkeypatch):
    monkeypatch.setattr(host_piece, "_PIECES_AT_ONCE", pieces)
    monkeypatch.setattr(host_piece, "_ROWS_PER_BLOCK", rows)
    monkeypatch.setattr(host_piece, "_INTERVALS_AT_ONCE", intervals)
    with closing(duckdb.connect()) as connection:
        connection.execute(TABLES)
        host_piece.cut_intervals(connection, "_interval", "_piece")
        found = connection.sql("select interval_id, ts, ts_end, thread_id, slice_id from _piece order by all")
        assert found.fetchall() == PIECES


@pytest.mark.parametrize(("rows", "queries"), [(100, 2), (4, 4)])
def test_threads_that_fit_into_a_block_are_asked_for_together(rows, queries, monkeypatch):
    asked = []
    relation = host_piece.relation
    monkeypatch.setattr(
        host_piece, "relation", lambda *given, **named: asked.append(given) or relation(*given, **named)
    )
    monkeypatch.setattr(host_piece, "_ROWS_PER_BLOCK", rows)
    with closing(duckdb.connect()) as connection:
        connection.execute(TABLES)
        host_piece.cut_intervals(connection, "_interval", "_piece")
    assert len(asked) == queries
