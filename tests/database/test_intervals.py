"""The macros for intervals: what they give is what counting one nanosecond after the other gives."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, product

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.database import catalogue, sql

LAST = 24

a_time = st.none() | st.integers(0, LAST)
a_key = st.sampled_from([None, 0, 1])
intervals = st.lists(st.tuples(a_key, a_time, a_time), max_size=8)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": "1"}) as connection:
        sql.run(connection, "database/intervals.sql")
        connection.execute("create table a (device integer, ts bigint, ts_end bigint)")
        connection.execute("create table b (ts bigint, ts_end bigint, device integer)")
        connection.execute("create table bare (ts bigint, ts_end bigint)")
        yield connection


def fill(connection, **tables):
    for name, rows in tables.items():
        columns = "device, ts, ts_end" if rows and len(rows[0]) == 3 else "ts, ts_end"
        connection.execute(f"delete from {name}")
        for row in rows:
            connection.execute(f"insert into {name} ({columns}) values ({', '.join('?' * len(row))})", row)


def ask(connection, query):
    return connection.execute(f"select * from {query} order by all nulls first").fetchall()


def valid(rows, key):
    return [(ts, end) for k, ts, end in rows if k == key and ts is not None and end is not None and ts < end]


def running(rows, key):
    """The nanoseconds at which an interval with this key runs, and how many of them."""
    return Counter(instant for ts, end in valid(rows, key) for instant in range(ts, end))


def stretches(instants):
    """(ts, ts_end) of each run of nanoseconds that follow each other."""
    runs = groupby(enumerate(sorted(instants)), lambda each: each[1] - each[0])
    found = [[instant for _, instant in run] for _, run in runs]
    return [(run[0], run[-1] + 1) for run in found]


def keys(*sides):
    """The keys of the intervals that hold time, as they are sorted: NULL first."""
    found = {k for rows in sides for k, *_ in rows if valid(rows, k)}
    return sorted(found, key=lambda k: (k is not None, k or 0))


@given(rows=intervals)
@settings(max_examples=100, deadline=None)
def test_union_and_gaps_are_the_nanoseconds_with_and_without(connection, rows):
    fill(connection, a=rows)
    union, gaps = [], []
    for key in keys(rows):
        busy = set(running(rows, key))
        union += [(key, *each) for each in stretches(busy)]
        gaps += [(key, *each) for each in stretches(set(range(min(busy), max(busy))) - busy)]
    assert ask(connection, "interval_union('a')") == union
    assert ask(connection, "interval_gaps('a')") == gaps


@given(rows=intervals, others=intervals)
@settings(max_examples=100, deadline=None)
def test_intersection_and_overlap_are_the_nanoseconds_of_both(connection, rows, others):
    fill(connection, a=rows, b=others)
    intersection, overlap = [], []
    for key in keys(rows, others):
        one, two = running(rows, key), running(others, key)
        shared = [min(e, f) - max(s, t) for (s, e), (t, f) in product(valid(rows, key), valid(others, key))]
        pairs = [time for time in shared if time > 0]
        intersection += [(key, *each) for each in stretches(set(one) & set(two))]
        overlap.append((key, len(set(one) & set(two)), len(pairs), sum(pairs)))
    assert ask(connection, "interval_intersection('a', 'b')") == intersection
    assert ask(connection, "interval_overlap('a', 'b')") == overlap


@given(rows=intervals, others=intervals)
@settings(max_examples=50, deadline=None)
def test_results_are_intervals_again(connection, rows, others):
    """Union and gaps fill the time from first to last, share none of it, and a side meets itself in its union."""
    fill(connection, a=rows, b=others)
    assert (
        ask(connection, "interval_intersection('a', 'a')")
        == ask(connection, "interval_union('a')")
        == connection.execute(
            "with u as (from interval_union('a')) from interval_union('u') order by all nulls first"
        ).fetchall()
    )
    both = "with u as (from interval_union('a')), g as (from interval_gaps('a'))"
    assert connection.execute(f"{both} from interval_intersection('u', 'g')").fetchall() == []
    assert (
        connection.execute(f"{both}, all_time as (from u union all from g) from interval_gaps('all_time')").fetchall()
        == []
    )


def test_without_keys_all_intervals_meet(connection):
    fill(connection, bare=[(0, 4), (4, 6), (8, 9), (3, 3), (None, 20)])
    assert ask(connection, "interval_union('bare')") == [(0, 6), (8, 9)]
    assert ask(connection, "interval_gaps('bare')") == [(6, 8)]
    assert ask(connection, "interval_overlap('bare', 'bare')") == [(7, 3, 7)]


def test_without_intervals_there_are_no_rows(connection):
    fill(connection, bare=[])
    for query in ("union('bare')", "gaps('bare')", "intersection('bare', 'bare')", "overlap('bare', 'bare')"):
        assert ask(connection, f"interval_{query}") == []


def test_sides_with_other_keys_are_refused(connection):
    fill(connection, a=[(0, 1, 2)], bare=[(1, 2)])
    with pytest.raises(duckdb.InvalidInputException, match="need the same columns beside ts and ts_end"):
        ask(connection, "interval_overlap('a', 'bare')")


def test_what_does_not_hold_intervals_is_refused(connection):
    with pytest.raises(duckdb.BinderException, match="ts_end"):
        connection.execute("with a as (select 1 as ts, 2 as dur) from interval_union('a')")


def test_keys_may_have_the_names_that_the_macros_use(connection):
    rows = "with mine as (select 1 as ts, 3 as ts_end, 5 as intervals, 6 as others, 7 as running, 8 as started, 9 as piece)"
    assert connection.execute(f"{rows} from interval_union('mine')").fetchall() == [(5, 6, 7, 8, 9, 1, 3)]
    assert connection.execute(f"{rows} from interval_overlap('mine', 'mine')").fetchall() == [(5, 6, 7, 8, 9, 2, 1, 2)]


def test_the_examples_of_the_dictionary_run_on_a_database():
    from traceq.cli.tables import _INTRODUCTION

    readable, example, stacks = (part.split("```")[0] for part in _INTRODUCTION.split("```sql\n")[1:])
    with catalogue.empty_database() as connection:
        connection.execute(
            "insert into gpu_slice by name"
            " from (values (1, 1, 0, 'kernel', 'k', 0, 9, false), (1, 2, 0, 'memcpy', 'm', 5, 9, false))"
            " as slice (trace_id, slice_id, device, kind, name, ts, dur, is_communication)"
        )
        assert connection.execute(example).fetchall() == [(0, 4, 1)]
        assert connection.execute(readable).fetchall() == [(None, None, 0.009, "k")]
        assert connection.execute(stacks).fetchall() == [("k", 9, None, None, None)]


def test_macros_are_in_the_dictionary_and_private_ones_are_not():
    with catalogue.empty_database() as connection:
        found = catalogue.list_macros(connection)
    found = [each for each in found if each.name.startswith(("interval_", "_"))]
    assert [each.name for each in found] == [
        "interval_union",
        "interval_gaps",
        "interval_intersection",
        "interval_overlap",
    ]
    assert found[3].comment.startswith("interval_overlap(intervals, others): One row per key")
