"""device_activity and time_ledger against the oracle, and the identities that hold whatever the trace."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from oracle import ledger, running_at
from tables import a_hundred, empty_tables, insert, worlds

from traceq.analysis.order import TOPICS, AnalysisState, run

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
    create temp table _slice_outlasting (slice_id bigint, inside bigint, depth integer);
    create temp table _slice_ended_under (slice_id bigint);
"""
BOUNDARIES = st.lists(TIME, min_size=2, max_size=5, unique=True).map(sorted)


def fill_ledger(devices, boundaries):
    """Fill the tables with slices per device and steps between the boundaries, and run the analyses up to the ledger."""
    connection = empty_tables()
    connection.execute(NOTHING_CROSSES)
    slices = [
        (device, ts, dur, *COLUMNS[activity]) for device, each in enumerate(devices) for activity, ts, dur in each
    ]
    insert(
        connection,
        "gpu_slice",
        "slice_id name device ts dur kind is_communication copy_kind",
        [(slice_id, "x", *row) for slice_id, row in enumerate(slices)],
    )
    steps = list(pairwise(boundaries))
    insert(
        connection,
        "step",
        "step name source ts dur",
        [(number, "s", "annotation", ts, end - ts) for number, (ts, end) in enumerate(steps)],
    )
    run(connection, CHAIN, AnalysisState(1))
    return connection


@a_hundred
@given(devices=worlds(SLICES), boundaries=BOUNDARIES)
def test_every_nanosecond_of_every_step_is_counted_once_and_where_the_oracle_says(devices, boundaries):
    connection, steps = fill_ledger(devices, boundaries), list(pairwise(boundaries))
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


@a_hundred
@given(devices=worlds(SLICES), boundaries=BOUNDARIES)
def test_segments_follow_one_another_and_count_what_runs(devices, boundaries):
    connection = fill_ledger(devices, boundaries)
    for device, slices in enumerate(devices):
        rows = connection.execute(
            "select ts, ts + dur, compute, communication, copy_h2d, copy_d2h, copy_other, memset, graph"
            " from device_activity where device = ? order by ts",
            [device],
        ).fetchall()
        assert all(end == next_ts for (_, end, *_), (next_ts, *_) in pairwise(rows))
        for ts, _, *counts in rows:
            names = ("compute", "communication", "copy_h2d", "copy_d2h", "copy_other", "memset", "graph")
            assert counts == [running_at(slices, name, ts) for name in names]


@a_hundred
@given(devices=worlds(SLICES), boundaries=BOUNDARIES, shift=st.integers(-(10**15), 10**15), cut=st.integers(1, 11))
def test_shifting_scaling_and_cutting_change_what_they_should_and_nothing_else(devices, boundaries, shift, cut):
    def collect_result(change, steps):
        connection = fill_ledger([[new for each in slices for new in change(*each)] for slices in devices], steps)
        return connection.execute("select device, step, category, dur from time_ledger order by all").fetchall()

    def in_two(activity, ts, dur):
        return [(activity, ts, cut), (activity, ts + cut, dur - cut)] if dur > cut else [(activity, ts, dur)]

    plain = collect_result(lambda *each: [each], boundaries)
    assert collect_result(lambda a, ts, dur: [(a, ts + shift, dur)], [b + shift for b in boundaries]) == plain
    doubled = collect_result(lambda a, ts, dur: [(a, 2 * ts, 2 * dur)], [2 * b for b in boundaries])
    assert doubled == [(*key, 2 * dur) for *key, dur in plain]
    assert collect_result(in_two, boundaries) == plain


def test_kernels_that_touch_leave_no_idle_and_overlapping_ones_are_not_counted_twice():
    connection = fill_ledger(
        [[("compute", 0, 10), ("compute", 10, 5), ("compute", 12, 8), ("copy_h2d", 5, 20)]], [0, 30]
    )
    rows = connection.execute("select category, dur from time_ledger order by all").fetchall()
    assert rows == [("compute", 20), ("copy_h2d", 5), ("idle_unattributed", 5)]


def test_a_device_without_work_in_a_step_is_idle_for_all_of_it():
    connection = fill_ledger([[("compute", 0, 10)]], [0, 20, 50])
    rows = connection.execute("select step, category, dur from time_ledger order by all").fetchall()
    assert rows == [(0, "compute", 10), (0, "idle_unattributed", 10), (1, "idle_unattributed", 30)]


def test_work_outside_all_steps_is_in_no_ledger():
    connection = fill_ledger([[("compute", 0, 10), ("memset", 100, 10)]], [5, 20])
    assert Counter(dict(connection.execute("select category, sum(dur) from time_ledger group by all").fetchall())) == {
        "compute": 5,
        "idle_unattributed": 10,
    }
