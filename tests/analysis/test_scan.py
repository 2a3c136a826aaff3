"""Replays in runs against a replay event by event, on random graphs; and the lemmas that hold of any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from random_graphs import random_graphs

from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.scan import as_predicted, replay
from traceq.analysis.replay.waits import QUEUE

a_hundred = settings(max_examples=100, deadline=None)


def event_by_event(graph, weights):
    """The marks, worked out one event after another."""
    clock, passed, returned = {}, {}, {}
    start, end = {}, {}
    pace = {int(event): number for number, event in enumerate(graph.paces.event)}
    for event in range(len(graph.gap)):
        now = clock.get(graph.lane[event], 0.0) + weights.gap[event]
        for one in np.flatnonzero(graph.event == event).tolist():
            bounds = [now + weights.lead[event] + weights.launch[one]]
            for other, lag in (
                (graph.before[one], weights.stream[one]),
                (graph.engine[one], weights.engine[one]),
                (graph.awaited[one], weights.awaiting[one]),
            ):
                if other != NONE:
                    bounds.append(end[int(other)] + lag)
            start[one] = max(bounds)
            end[one] = start[one] + weights.dur[one]
        now += weights.call[event]
        for edge in np.flatnonzero(graph.waits.event == event).tolist():
            one = int(graph.waits.slice[edge])
            until = start[one] if graph.waits.kind[event] == QUEUE else end[one]
            now = max(now, until + weights.tail[edge])
        if event in pace:
            number = pace[event]
            now = max(now, returned[int(graph.paces.previous[number])] + weights.pace[number])
        clock[graph.lane[event]] = returned[event] = now
        if graph.mark[event] != NONE:
            passed[int(graph.mark[event])] = now
    marks = [passed[number] for number in sorted(passed)]
    for number, one in enumerate(graph.marked_by_slice.tolist()):
        if one != NONE:
            marks[number] = start[one]
    marks[-1] = max([marks[-1], *end.values()])
    return marks


@a_hundred
@given(random_graphs())
def test_runs_give_what_single_events_give(graph):
    weights = as_predicted(graph)
    scenarios = [weights, replace(weights, dur=weights.dur / 2), replace(weights, gap=weights.gap * 0.0)]
    found = replay(graph, scenarios)
    for marks, each in zip(found, scenarios, strict=True):
        assert marks == pytest.approx(event_by_event(graph, each), abs=1e-6)


@a_hundred
@given(random_graphs(), st.data())
def test_less_of_anything_is_never_slower(graph, data):
    """And what is saved is not more than what was taken away, all of it added up."""
    weights = as_predicted(graph)
    name = data.draw(st.sampled_from(["gap", "call", "lead", "dur", "launch", "stream", "awaiting", "tail", "pace"]))
    whole = getattr(weights, name)
    part = data.draw(st.floats(0, 1))
    less, least = replace(weights, **{name: whole * part}), replace(weights, **{name: whole * part / 2})
    ends = replay(graph, [weights, less, least])[:, -1]
    assert ends[0] >= ends[1] - 1e-6
    assert ends[1] >= ends[2] - 1e-6
    assert ends[0] - ends[2] <= (whole * (1 - part / 2)).sum() + 1e-6


@a_hundred
@given(random_graphs())
def test_the_first_quarter_saves_at_least_a_quarter(graph):
    weights = as_predicted(graph)
    ends = replay(graph, [replace(weights, dur=weights.dur * left) for left in (1.0, 0.75, 0.0)])[:, -1]
    assert ends[0] - ends[1] >= (ends[0] - ends[2]) / 4 - 1e-6
