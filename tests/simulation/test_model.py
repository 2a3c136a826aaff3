"""What must hold of every run, whatever the program."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from programs import flatten_actions, programs
from simulator import CAUSES, simulate, truth
from simulator.program import Copy, Record, Sync, Wait

few = settings(max_examples=25, deadline=None)
WORK_CATEGORIES = ("compute", "communication", "copy_h2d", "copy_d2h", "memset")


def list_started(run):
    return run.processes[0].started


def list_launched(program, run):
    """The program's actions in order, each with the work it started, if any."""
    work = iter(list_started(run))
    actions = flatten_actions(program.processes[0].actions)
    return [(action, next(work) if hasattr(action, "timing") else None) for action in actions]


@few
@given(programs)
def test_streams_run_in_order_and_nothing_starts_before_its_launch(program):
    run = simulate(program)
    last = {}
    for one in list_started(run):
        item, stream = one.item, one.item.action.stream
        overlap = getattr(item.action, "overlap", 0)
        assert item.start >= one.ts
        assert item.end == item.start + item.action.dur
        if stream in last:
            assert item.start >= max(last[stream].start, last[stream].end - overlap)
        last[stream] = item


@few
@given(programs)
def test_copies_of_one_direction_do_not_overlap(program):
    run = simulate(program)
    engines = {}
    for one in list_started(run):
        if isinstance(one.item.action, Copy) and one.item.action.direction != "DtoD":
            engines.setdefault((one.item.action.stream.device, one.item.action.direction), []).append(one.item)
    for copies in engines.values():
        assert all(after.start >= before.end for before, after in pairwise(copies))


@few
@given(programs)
def test_streams_wait_for_what_events_were_recorded_behind(program):
    run = simulate(program)
    last, recorded, bound = {}, {}, {}
    for action, one in list_launched(program, run):
        if isinstance(action, Record):
            recorded[action.event] = max(last.get(action.stream, 0), bound.get(action.stream, 0))
        elif isinstance(action, Wait):
            bound[action.stream] = max(bound.get(action.stream, 0), recorded.get(action.event, 0))
        elif one:
            assert one.item.start >= bound.get(action.stream, 0)
            last[action.stream] = one.item.end


@few
@given(programs)
def test_synchronizing_calls_return_after_the_work_is_done(program):
    run = simulate(program)
    names = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
    calls = iter(sorted((one for one in run.processes[0].slices if one.name in names), key=lambda one: one.ts))
    ends, recorded = {}, {}
    for action, one in list_launched(program, run):
        if isinstance(action, Record):
            recorded[action.event] = ends.get(action.stream, 0)
        elif isinstance(action, Sync):
            call = next(calls)
            until = action.until
            awaited = recorded.get(until, 0) if isinstance(until, str) else until
            if not isinstance(until, str):
                awaited = max((end for stream, end in ends.items() if until in (stream, stream.device)), default=0)
            assert call.ts + call.dur >= awaited
        elif one:
            ends[action.stream] = one.item.end


@few
@given(programs)
def test_pageable_copies_hold_the_host(program):
    for action, one in list_launched(program, simulate(program)):
        if isinstance(action, Copy):
            assert action.is_pinned or one.ts_end > one.item.end


@few
@given(programs, st.integers(1, 4))
def test_launches_wait_for_a_place_in_the_queue(program, most):
    with patch("simulator.gpu.MOST_PENDING", most):
        run = simulate(program)
    for device in (0, 1):
        there = [one for one in list_started(run) if one.item.action.stream.device == device]
        for now in (one.ts_end for one in there):
            assert sum(one.ts_end <= now < one.item.start for one in there) <= most


@few
@given(programs)
def test_host_slices_nest(program):
    run = simulate(program)
    for thread in run.processes[0].threads.values():
        slices = [(one.ts, one.ts + one.dur) for one in run.processes[0].slices if one.thread == thread.thread]
        for ts, end in slices:
            assert not any(ts < other_ts < end < other_end for other_ts, other_end in slices)


@few
@given(programs, st.sampled_from(["nsys", "kineto"]))
def test_causes_tile_the_idle_time(program, trace_format):
    told = truth(simulate(program), trace_format)
    window = told.steps[0].ts, told.steps[-1].ts_end
    for device in {one.device for one in told.busy}:
        edges = [window[0], window[1]]
        for one in told.busy:
            if one.device == device:
                edges += [one.ts, one.ts_end]
        idle = [one for one in told.idle if one.device == device]
        for ts, end in pairwise(sorted({t for t in edges if window[0] <= t <= window[1]})):
            works = any(one.device == device and one.ts <= ts < one.ts_end for one in told.busy)
            covered = sum(max(0, min(end, one.ts_end) - max(ts, one.ts)) for one in idle)
            assert covered == (0 if works else end - ts)
        assert all(before.ts_end <= after.ts for before, after in pairwise(idle))


@few
@given(programs)
def test_the_ledger_adds_up_and_its_idle_is_the_sum_of_the_causes(program):
    told = truth(simulate(program), "nsys")
    ledger, causes = told.ledger(), told.causes()
    for device in {one.device for one in told.busy}:
        assert sum(ns for (one, _, _), ns in ledger.items() if one == device) == told.steps[0].dur
        assert ledger.get((device, 0, "idle"), 0) == sum(ns for (one, _, _), ns in causes.items() if one == device)


@few
@given(programs, st.sampled_from([*CAUSES, *WORK_CATEGORIES]))
def test_without_a_cause_a_run_is_never_slower(program, cause):
    assert simulate(program, without=[cause]).end <= simulate(program).end
