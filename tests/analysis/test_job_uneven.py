"""Waits in collectives that ranks do not leave together, and what is won by a faster rank, against a simulator of events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from simulated_directions import US, Meeting, play, record

from traceq.analysis.job.uneven import KINDS
from traceq.analysis.job.window import Ranks, judge_window

OPS = [*KINDS, "all_reduce", "send_recv"]
ROOTED = ("broadcast", "scatter", "reduce", "gather")


@st.composite
def jobs(draw, told=(True,)):
    ranks = draw(st.integers(2, 5))
    meetings = []
    for _ in range(draw(st.integers(1, 8))):
        op = draw(st.sampled_from(OPS))
        size = 2 if op == "send_recv" else draw(st.integers(2, ranks))
        members = sorted(draw(st.permutations(range(ranks)))[:size])
        own = {rank: US * draw(st.integers(0, 200)) for rank in members}
        # who waits for all leaves with all, but for the own part of each in an exchange
        is_even = op in ("all_reduce", "send_recv")
        lengths = [US * draw(st.integers(5, 60)) for _ in members]
        transfer = {rank: lengths[0] if is_even else length for rank, length in zip(members, lengths, strict=True)}
        root = draw(st.sampled_from(members)) if op in ROOTED else None
        meetings.append(Meeting(op, own, transfer, root, draw(st.sampled_from(told))))
    offsets = [US * draw(st.integers(-500, 500)) for _ in range(ranks)]
    return ranks, meetings, offsets


def judged(ranks, meetings, offsets, change=lambda clocks: clocks):
    happened = play(meetings)
    slices, clocks = record(meetings, happened, ranks, offsets)
    found = judge_window(Ranks(ranks, np.full(ranks, -1), {}), slices, change(clocks))
    return happened, slices.members, found


@settings(max_examples=300, deadline=None)
@given(jobs())
def test_waits_are_the_simulators(job):
    happened, members, found = judged(*job)
    waited = members.end - members.start - found.times.transfer[found.graph.members.match]
    expected = [happened.wait[number][rank] for number, rank in zip(members.match, members.unit, strict=True)]
    assert waited.tolist() == pytest.approx(expected, abs=1)


@settings(max_examples=300, deadline=None)
@given(jobs())
def test_a_replay_lasts_as_long_as_the_job_and_its_path_adds_up(job):
    ranks, meetings, _ = job
    happened, _, found = judged(*job)
    arrivals = [start for number in range(len(meetings)) for start in happened.start[number].values()]
    replayed = found.times.lasts(np.zeros((ranks, 1), bool))[0]
    assert replayed + min(arrivals) == pytest.approx(happened.lasts)
    path = found.path
    assert path.late_start + path.own + path.transfer == pytest.approx(replayed)
    pieces = found.pieces
    lasts = pieces.end - pieces.begin
    assert lasts.sum() == pytest.approx(replayed, abs=1)
    assert lasts[pieces.moves == 1].sum() == pytest.approx(path.transfer, abs=1)


@settings(max_examples=200, deadline=None)
@given(jobs(), st.data())
def test_what_a_faster_rank_wins_is_what_the_simulator_says(job, data):
    ranks, meetings, _ = job
    quick = data.draw(st.integers(0, ranks - 1))
    happened, members, found = judged(*job)
    is_first = {rank: next(n for n, each in enumerate(meetings) if rank in each.own) for rank in members.unit.tolist()}
    faster = [
        replace_own(meeting, quick, 0) if is_first.get(quick) != number and quick in meeting.own else meeting
        for number, meeting in enumerate(meetings)
    ]
    zero = min(start for starts in happened.start for start in starts.values())
    times = replace(found.times, usual=np.where(members.unit == quick, 0.0, found.times.own))
    cut = np.zeros((ranks, 1), bool)
    cut[quick] = True
    assert times.lasts(cut)[0] + zero == pytest.approx(play(faster).lasts)


def replace_own(meeting, rank, own):
    return Meeting(meeting.op, meeting.own | {rank: own}, meeting.transfer, meeting.root, meeting.is_told)


@settings(max_examples=200, deadline=None)
@given(jobs())
def test_who_is_late_has_others_wait(job):
    _, meetings, _ = job
    happened, _, found = judged(*job)
    waits = found.waits
    if waits is None:
        return
    for place, number in enumerate(waits.uneven.match.tolist()):
        meeting, late = meetings[number], int(waits.late_unit[place])
        start, wait = happened.start[number], happened.wait[number]
        waiting = [rank for rank in wait if wait[rank] > found.claim_limit]
        if late >= 0:
            assert waiting
            assert all(start[late] == start[rank] + wait[rank] for rank in waiting)
        elif meeting.op in ("broadcast", "scatter"):
            assert not waiting


@settings(max_examples=100, deadline=None)
@given(jobs(told=(True, False)))
def test_nobody_is_late_where_no_trace_tells_the_root(job):
    _, meetings, _ = job
    happened, members, found = judged(*job)
    if found.waits is None:
        return
    waits = dict(zip(found.waits.rows.tolist(), found.waits.wait.tolist(), strict=True))
    for row, (number, rank) in enumerate(zip(members.match.tolist(), members.unit.tolist(), strict=True)):
        if meetings[number].op in ROOTED and not meetings[number].is_told:
            assert np.isnan(waits[row])
        elif row in waits:
            assert waits[row] == pytest.approx(happened.wait[number][rank], abs=1)
    untold = [
        place
        for place, number in enumerate(found.waits.uneven.match)
        if meetings[number].op in ROOTED and not meetings[number].is_told
    ]
    assert set(found.waits.late_unit[untold].tolist()) <= {-1}
    assert np.isnan(found.waits.late_by[untold]).all()


def test_without_a_common_clock_durations_tell():
    """The root comes 100 us after rank 1 and 40 us before rank 2; all need 30 us."""
    meetings = [Meeting("broadcast", {0: 100 * US, 1: 0, 2: 140 * US}, dict.fromkeys(range(3), 30 * US), 0)]
    meetings.append(Meeting("all_to_all", {0: 0, 1: 50 * US, 2: 0}, {0: 10 * US, 1: 20 * US, 2: 30 * US}))
    _, members, found = judged(
        3, meetings, [0, 70 * US, -50 * US], lambda clocks: replace(clocks, joined=~clocks.joined)
    )
    of_broadcast = members.match[found.waits.rows] == 0
    assert of_broadcast.all()
    assert found.waits.wait.tolist() == [0, 100 * US, 0]
    assert not found.waits.by_arrival.any()
    assert found.waits.late_unit.tolist() == [0]
    # the exchange is taken for even: the least duration is the transfer
    assert found.transfer[1] == 20 * US
