"""Cuts a dependency graph into runs: calls of one lane in order, and what they launch on one stream in order.

Nothing from outside reaches into a run but at its start, and nothing outside needs to know of it but its end. So a run is three
numbers: what it takes on the host, how long its GPU work ends after its start if only launches hold it up, and after the end of
the work before it on its stream if only that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.replay.recorded import NONE, Booleans, Floats, Integers

if TYPE_CHECKING:
    from traceq.analysis.replay.graph import Graph
    from traceq.analysis.replay.weights import Weights


@dataclass(frozen=True)
class Runs:
    """Elements are GPU slices, and host events without any, in the order of their lanes; runs are ranges of elements."""

    event: Integers  # of each element
    slice: Integers  # of each element; -1 for an event without any
    closes: Booleans  # whether an element is the last of its event
    first: Integers  # of each run: its first element
    last: Integers
    first_slice: Integers  # of each run: its first slice, -1 where it has none
    last_slice: Integers
    order: Integers  # the runs in the order in which they can be worked out
    run_of_slice: Integers  # of each slice that something outside its run needs: its run


def runs(graph: Graph) -> Runs:
    """Return the runs of the graph."""
    event, piece, closes = _elements(graph)
    has = piece >= 0
    at = np.maximum(piece, 0)
    waits = np.zeros(len(graph.gap), dtype=bool)
    waits[graph.waits.event] = True
    waits[graph.paces.event] = True
    waits[graph.paces.previous] = True
    is_marked = np.zeros(max(len(graph.dur), 1), dtype=bool)
    is_marked[graph.marked_by_slice[graph.marked_by_slice >= 0]] = True
    tapped = is_marked.copy()
    for others in (graph.awaited, graph.engine, graph.waits.slice):
        tapped[others[others >= 0]] = True
    held = np.zeros(len(tapped), dtype=bool)
    held[: len(graph.dur)] = (graph.awaited >= 0) | (graph.engine >= 0)
    before = np.full(len(tapped), NONE, dtype=np.int64)
    before[: len(graph.dur)] = graph.before
    lane = graph.lane[event]
    # The last slice before each element in its lane, whatever is between.
    place = np.concatenate([[NONE], np.maximum.accumulate(np.where(has, np.arange(len(event)), NONE))[:-1]])
    same_lane = (place >= 0) & (lane[np.maximum(place, 0)] == lane)
    previous = np.where(same_lane, piece[np.maximum(place, 0)], NONE)
    cut = np.ones(len(event), dtype=bool)
    cut[1:] = (
        (lane[1:] != lane[:-1])
        | waits[event[1:]]
        | waits[event[:-1]]
        | (graph.mark[event[:-1]] >= 0)
        | (has & (held[at] | is_marked[at] | (before[at] != previous)))[1:]
        | (has & tapped[at])[:-1]
    )
    # An event that waits is a run of its own, but for its slices but the last.
    first = np.flatnonzero(cut)
    last = np.concatenate([first[1:], [len(event)]]) - 1
    n = len(first)
    number = np.cumsum(cut) - 1
    first_slice, last_slice = np.full(n, NONE, dtype=np.int64), np.full(n, NONE, dtype=np.int64)
    with_slice = np.flatnonzero(has)
    last_slice[number[with_slice]] = piece[with_slice]
    first_slice[number[with_slice[::-1]]] = piece[with_slice[::-1]]
    run_of = np.full(len(graph.dur), NONE, dtype=np.int64)
    run_of[piece[with_slice]] = number[with_slice]
    # Events are in the order of time, and elements of an event in the order of its slices.
    order = np.lexsort((first_slice, event[first]))
    return Runs(event, piece, closes, first, last, first_slice, last_slice, order, run_of)


def _elements(graph: Graph) -> tuple[Integers, Integers, Booleans]:
    """Event and slice of each element, by lane and time, and whether it is the last of its event."""
    count = np.bincount(graph.event, minlength=len(graph.gap))
    alone = np.flatnonzero(count == 0)
    event = np.concatenate([graph.event, alone])
    piece = np.concatenate([np.arange(len(graph.event)), np.full(len(alone), NONE)])
    order = np.lexsort((piece, event, graph.lane[event]))
    event, piece = event[order], piece[order]
    closes = np.concatenate([event[1:] != event[:-1], [True]])
    return event, piece, closes


class Lengths:
    """Works out how long runs last; times of the host, or of the GPU, that scenarios share with the first, only once."""

    def __init__(self, found: Runs, first: Weights) -> None:
        self._runs, self._first = found, first
        self._piece, self._has = np.maximum(found.slice, 0), found.slice >= 0
        self._on_host = self._given(first)
        self._on_gpu = self._queue(first) if self._has.any() else None

    def of(self, weights: Weights) -> tuple[Floats, Floats, Floats, Floats]:
        """Return per run its time on the host, and what it takes until its last slice ends, ns.

        The latter from the start of the run, from the end of what is before on its stream, and from the start of its first slice.
        """
        found, first, piece = self._runs, self._first, self._piece
        same = weights.gap is first.gap and weights.call is first.call and weights.lead is first.lead
        host_time, given = self._on_host if same else self._given(weights)
        if self._on_gpu is None:
            nothing = np.full(len(found.first), -np.inf)
            return host_time, nothing, nothing, nothing
        same = weights.stream is first.stream and weights.dur is first.dur
        queue, begin = self._on_gpu if same else self._queue(weights)
        ends = np.where(self._has, given + weights.launch[piece] + weights.dur[piece] - queue, -np.inf)
        until = queue[found.last]
        from_launch = np.maximum.reduceat(ends, found.first) + until
        from_before = until - begin
        return host_time, from_launch, from_before, from_before - weights.stream[np.maximum(found.first_slice, 0)]

    def _given(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return per run its time on the host; per element from the start of its run until its launch is on its way."""
        found, event = self._runs, self._runs.event
        host = np.where(found.closes, weights.gap[event] + weights.call[event], 0.0)
        done = np.cumsum(host)
        start = done - host
        base = start[found.first]
        number = np.repeat(np.arange(len(found.first)), found.last - found.first + 1)
        return done[found.last] - base, start - base[number] + weights.gap[event] + weights.lead[event]

    def _queue(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return per element the GPU time up to its end if only their order held slices; per run up to its start."""
        length = np.where(self._has, weights.stream[self._piece] + weights.dur[self._piece], 0.0)
        queue = np.cumsum(length)
        return queue, queue[self._runs.first] - length[self._runs.first]
