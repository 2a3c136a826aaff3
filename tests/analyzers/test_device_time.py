"""device_activity and time_ledger against the oracle, and the identities that hold whatever the trace."""

from __future__ import annotations

from collections import Counter
from itertools import count, pairwise

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import ledger, running_at

from traceq.analyzers.analyses import TOPICS, run
from traceq.store import create_schema

# activity -> the columns of gpu_slice that make it one
COLUMNS = {
    "compute": ("kernel", False, None),
    "communication": ("kernel", True, None),
    "graph": ("graph", False, None),
    "memset": ("memset", False, None),
    "copy_h2d": ("memcpy", False, "h2d"),
    "copy_d2h": ("memcpy", False, "d2h"),
    "copy_other": ("memcpy", False, "d2d"),
}
TIME = st.integers(0, 40)
SLICES = st.lists(st.tuples(st.sampled_from(sorted(COLUMNS)), TIME, st.integers(0, 12)), min_size=1, max_size=12)
# What the ledger is made from, and what the sweep over host slices leaves behind: here the host does nothing.
LEDGER = TOPICS[0].analyses
CHAIN = LEDGER[: LEDGER.index("time_ledger") + 1]
NOTHING_CROSSES = """
    create temp table _slice_cut (slice_id bigint, ts_end bigint);
    create temp table _slice_outlasting (slice_id bigint, inside bigint);
    create temp table _slice_ended_under (slice_id bigint);
"""
BOUNDARIES = st.lists(TIME, min_size=2, max_size=5, unique=True).map(sorted)


@pytest.fixture(scope="module")
def connection():
    connection = duckdb.connect()
    create_schema(connection)
    return connection


def fill(connection, devices, boundaries):
    """Put slices per device and steps between the boundaries in the tables, and run the analyses up to the ledger."""
    for table in ("gpu_slice", "step", "device_activity", "idle_gap", "idle_gap_cause", "time_ledger"):
        connection.execute(f"delete from {table}")
    for (table,) in connection.execute("select table_name from duckdb_tables() where temporary").fetchall():
        connection.execute(f"drop table temp.{table}")
    connection.execute(NOTHING_CROSSES)
    slice_ids = count()
    for device, slices in enumerate(devices):
        for activity, ts, dur in slices:
            kind, is_communication, copy_kind = COLUMNS[activity]
            connection.execute(
                "insert into gpu_slice (trace_id, slice_id, device, kind, name, ts, dur, is_communication, copy_kind)"
                " values (1, ?, ?, ?, 'x', ?, ?, ?, ?)",
                [next(slice_ids), device, kind, ts, dur, is_communication, copy_kind],
            )
    steps = list(pairwise(boundaries))
    for number, (ts, end) in enumerate(steps):
        connection.execute(
            "insert into step (trace_id, step, name, source, ts, dur) values (1, ?, 's', 'annotation', ?, ?)",
            [number, ts, end - ts],
        )
    run(connection, CHAIN, trace_id=1)
    return steps


@settings(max_examples=25, deadline=None)
@given(devices=st.lists(SLICES, min_size=1, max_size=2), boundaries=BOUNDARIES)
def test_every_nanosecond_of_every_step_is_counted_once_and_where_the_oracle_says(connection, devices, boundaries):
    steps = fill(connection, devices, boundaries)
    for device, slices in enumerate(devices):
        rows = connection.execute("select step, category, dur from time_ledger where device = ?", [device]).fetchall()
        found = Counter()
        for step, category, dur in rows:
            assert dur > 0
            found[step, "idle" if category.startswith("idle_") else category] += dur
        assert found == ledger(slices, steps)
    assert connection.execute(
        "select device, step, sum(l.dur) from time_ledger as l group by all order by all"
    ).fetchall() == [
        (device, number, end - ts) for device in range(len(devices)) for number, (ts, end) in enumerate(steps)
    ]


@settings(max_examples=25, deadline=None)
@given(slices=SLICES, boundaries=BOUNDARIES)
def test_segments_follow_one_another_and_count_what_runs(connection, slices, boundaries):
    fill(connection, [slices], boundaries)
    rows = connection.execute(
        "select ts, ts + dur, compute, communication, copy_h2d, copy_d2h, copy_other, memset, graph"
        " from device_activity order by ts"
    ).fetchall()
    assert all(end == next_ts for (_, end, *_), (next_ts, *_) in pairwise(rows))
    for ts, _, *counts in rows:
        names = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset", "graph")
        assert counts == [running_at(slices, name, ts) for name in names]


@settings(max_examples=15, deadline=None)
@given(slices=SLICES, boundaries=BOUNDARIES, shift=st.integers(-(10**15), 10**15), cut=st.integers(1, 11))
def test_shifting_scaling_and_cutting_change_what_they_should_and_nothing_else(
    connection, slices, boundaries, shift, cut
):
    def result(chosen, steps):
        fill(connection, [chosen], steps)
        return connection.execute("select step, category, dur from time_ledger order by all").fetchall()

    plain = result(slices, boundaries)
    assert result([(a, ts + shift, dur) for a, ts, dur in slices], [b + shift for b in boundaries]) == plain
    doubled = result([(a, 2 * ts, 2 * dur) for a, ts, dur in slices], [2 * b for b in boundaries])
    assert doubled == [(step, category, 2 * dur) for step, category, dur in plain]
    pieces = [
        piece
        for a, ts, dur in slices
        for piece in ([(a, ts, cut), (a, ts + cut, dur - cut)] if dur > cut else [(a, ts, dur)])
    ]
    assert result(pieces, boundaries) == plain


def test_kernels_that_touch_leave_no_idle_and_overlapping_ones_are_not_counted_twice(connection):
    fill(connection, [[("compute", 0, 10), ("compute", 10, 5), ("compute", 12, 8), ("copy_h2d", 5, 20)]], [0, 30])
    rows = connection.execute("select category, dur from time_ledger order by all").fetchall()
    assert rows == [("compute", 20), ("copy_h2d", 5), ("idle_unattributed", 5)]


def test_a_device_without_work_in_a_step_is_idle_for_all_of_it(connection):
    fill(connection, [[("compute", 0, 10)]], [0, 20, 50])
    rows = connection.execute("select step, category, dur from time_ledger order by all").fetchall()
    assert rows == [(0, "compute", 10), (0, "idle_unattributed", 10), (1, "idle_unattributed", 30)]


def test_work_outside_all_steps_is_in_no_ledger(connection):
    fill(connection, [[("compute", 0, 10), ("memset", 100, 10)]], [5, 20])
    assert Counter(dict(connection.execute("select category, sum(dur) from time_ledger group by all").fetchall())) == {
        "compute": 5,
        "idle_unattributed": 10,
    }
