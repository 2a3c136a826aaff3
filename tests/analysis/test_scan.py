"""Replays in runs against a replay event by event, on random graphs; and the lemmas that hold of any of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.replay.graph import Graph, Lag
from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.scan import replay
from traceq.analysis.replay.waits import QUEUE, SYNCHRONIZATION, Paces, Waits, before_in
from traceq.analysis.replay.weights import as_predicted

TIMES = st.integers(0, 50).map(float)
a_hundred = settings(max_examples=100, deadline=None)


@st.composite
def graphs(draw):
    """Up to 12 host events on two lanes, which launch slices on three streams, wait for events, engines and one another."""
    count = draw(st.integers(1, 12))
    lane = np.array([draw(st.integers(0, 1)) for _ in range(count)], dtype=np.int64)
    marks = np.full(count, NONE, dtype=np.int64)
    marked = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3)) | {count - 1})
    marks[marked] = np.arange(len(marked))
    launched = [draw(st.integers(0, 2)) if marks[n] == NONE else 0 for n in range(count)]
    event = np.repeat(np.arange(count), launched)
    size = len(event)

    def earlier(n):
        return draw(st.one_of(st.just(NONE), st.integers(0, n - 1))) if n else NONE

    stream = np.array([draw(st.integers(0, 2)) for _ in range(size)], dtype=np.int64)
    engine = np.array([earlier(n) for n in range(size)], dtype=np.int64)
    awaited = np.array([earlier(n) for n in range(size)], dtype=np.int64)
    pairs, kind = [], np.full(count, NONE, dtype=np.int64)
    for n in range(count):
        before = np.flatnonzero(event <= n)
        if len(before) and marks[n] == NONE and draw(st.booleans()):
            kind[n] = draw(st.sampled_from([SYNCHRONIZATION, QUEUE]))
            pairs += [
                (n, one) for one in sorted(draw(st.sets(st.sampled_from(before.tolist()), min_size=1, max_size=2)))
            ]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    waits = Waits(edges[:, 0], edges[:, 1], kind, np.zeros(count, dtype=bool))
    fetches = [n for n in range(count) if marks[n] == NONE and draw(st.booleans())]
    paces = Paces(
        np.array(fetches[1:], dtype=np.int64),
        np.array(fetches[:-1], dtype=np.int64),
        np.array([draw(TIMES) for _ in fetches[1:]]),
    )

    def times(length):
        return np.array([draw(TIMES) for _ in range(length)], dtype=np.float64)

    def lag(length):
        return Lag(times(length), np.zeros(length))

    by_slice = np.full(len(marked) - 1, NONE, dtype=np.int64)
    if size and len(by_slice) and draw(st.booleans()):
        by_slice[0] = draw(st.integers(0, size - 1))
    return Graph(
        lane=lane, gap=times(count), call=times(count), lead=times(count), mark=marks, marked_by_slice=by_slice,
        waits=waits, tail=lag(len(edges)), paces=paces, event=event.astype(np.int64), stream_of=stream,
        before=before_in(stream), engine=engine, awaited=awaited, is_graph=np.zeros(size, dtype=bool),
        launch=lag(size), stream=lag(size), awaiting=lag(size), dur=times(size),
        category=np.zeros(size, dtype=np.int64), ends_on_gpu=False, span=0.0,
    )  # fmt: skip


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
@given(graphs())
def test_runs_give_what_single_events_give(graph):
    weights = as_predicted(graph)
    scenarios = [weights, replace(weights, dur=weights.dur / 2), replace(weights, gap=weights.gap * 0.0)]
    found = replay(graph, scenarios)
    for marks, each in zip(found, scenarios, strict=True):
        assert marks == pytest.approx(event_by_event(graph, each), abs=1e-6)


@a_hundred
@given(graphs(), st.data())
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
@given(graphs())
def test_the_first_quarter_saves_at_least_a_quarter(graph):
    weights = as_predicted(graph)
    ends = replay(graph, [replace(weights, dur=weights.dur * left) for left in (1.0, 0.75, 0.0)])[:, -1]
    assert ends[0] - ends[1] >= (ends[0] - ends[2]) / 4 - 1e-6
