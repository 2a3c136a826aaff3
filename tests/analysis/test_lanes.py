"""Threads that take turns share a lane, those that work at once have their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.analysis.replay import lanes
from traceq.analysis.replay.too_large import TooLarge

NONE = -1


def assign_one_by_one(calls, marks):
    """Return the lanes of `assign`, each thread compared with all that have one: slow, and plainly what is meant."""
    events = sorted([(*call, False) for call in calls] + [(*mark, True) for mark in marks], key=lambda event: event[2])
    lane, count = {}, 1
    for process in sorted({event[0] for event in events}):
        mine = [event for event in events if event[0] == process]
        times = {}
        for _, thread, ts, ts_end, is_mark in mine:
            if not is_mark:
                times.setdefault(thread, []).append((ts, ts_end))
        groups = []
        for thread in sorted(times, key=lambda thread: (-len(times[thread]), thread)):
            for group in groups:
                if not any(work_at_once(times[thread], times[other]) for other in group):
                    group.append(thread)
                    break
            else:
                groups.append([thread])
        number = {thread: place for place, group in enumerate(groups) for thread in group}
        for event in mine:
            lane[event] = count + number.get(event[1], 0)
        count += max(len(groups), 1)
    return [lane[event] for event in events]


def work_at_once(one, other):
    """Tell whether calls of two threads overlap more than twice, and in more than 2 % of those of the thread with fewer."""
    if one[0][0] >= max(end for _, end in other) or other[0][0] >= max(end for _, end in one):
        return False
    overlapping = 0
    for asked, there in ((one, other), (other, one)):
        for ts, _ in asked:
            before = [end for begin, end in there if begin <= ts]
            overlapping += bool(before) and before[-1] > ts
    return overlapping > max(2, 0.02 * min(len(one), len(other)))


def assign(calls, marks=()):
    """Return the lane of each event in the order of time; calls and marks are (process, thread, begin, end)."""
    events = sorted([(*call, False) for call in calls] + [(*mark, True) for mark in marks], key=lambda event: event[2])
    pid, thread, ts, ts_end = (np.array([event[place] for event in events], np.int64) for place in range(4))
    is_mark = np.array([event[4] for event in events], bool)
    return lanes.assign_lanes(pid, thread, ts, ts_end, np.zeros(len(events), bool), is_mark).tolist()


TIMES = st.integers(0, 60)
CALLS = st.lists(
    st.tuples(st.integers(0, 7), TIMES, st.integers(0, 25)).map(
        lambda call: (call[0] // 6, call[0], call[1], call[1] + call[2])
    ),
    max_size=60,
)
MARKS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([NONE, 0, 5, 6]), TIMES).map(
        lambda mark: (mark[0], mark[1], mark[2], mark[2])
    ),
    max_size=3,
)


@given(CALLS, MARKS, st.integers(1, 40))
def test_lanes_are_those_of_comparing_one_by_one(calls, marks, at_once):
    before, lanes._AT_ONCE = lanes._AT_ONCE, at_once
    try:
        assert assign(calls, marks) == assign_one_by_one(calls, marks)
    finally:
        lanes._AT_ONCE = before


@given(st.integers(0, 2**32), st.sampled_from([0, 3, 30]))
def test_two_per_cent_of_many_calls_may_overlap(seed, longest):
    dice = np.random.default_rng(seed)
    threads = dice.integers(0, 4, 600).tolist()
    calls = [
        (0, thread, 10 * place, 10 * place + length)
        for place, (thread, length) in enumerate(zip(threads, dice.integers(0, 10, 600).tolist(), strict=True))
    ]
    for place in dice.integers(0, 600, longest).tolist():
        process, thread, ts, _ = calls[place]
        calls[place] = process, thread, ts, ts + 15
    assert assign(calls) == assign_one_by_one(calls, [])


def test_threads_that_take_turns_share_a_lane():
    turns = [
        (0, thread, 10 * (3 * turn + thread), 10 * (3 * turn + thread) + 9) for turn in range(5) for thread in range(3)
    ]
    assert set(assign(turns)) == {1}


def test_threads_that_work_at_once_have_their_own():
    at_once = [(0, thread, 10 * turn + thread, 10 * turn + 9) for turn in range(5) for thread in range(3)]
    assert assign(at_once) == [1, 2, 3] * 5


def test_pairs_without_number_are_too_many(monkeypatch):
    monkeypatch.setattr(lanes, "_MOST_PAIRS", 2)
    at_once = [(0, thread, thread, 10) for thread in range(3)]
    with pytest.raises(TooLarge, match=r"^3 threads make calls for a GPU, more than 2 pairs of them at the same time"):
        assign(at_once)
