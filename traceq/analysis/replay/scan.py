"""Replays a dependency graph in several scenarios at once: when each step starts, and when the last ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from traceq.analysis.replay.recorded import NONE, Booleans, Floats, Integers
from traceq.analysis.replay.waits import QUEUE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traceq.analysis.replay.graph import Graph


class Weights(msgspec.Struct, frozen=True):
    """Lengths of host events (gap, call, lead), GPU slices (dur) and edges (the others), ns; -inf drops an edge."""

    gap: Floats
    call: Floats
    lead: Floats
    dur: Floats
    launch: Floats
    stream: Floats
    awaiting: Floats
    engine: Floats
    tail: Floats
    pace: Floats


def as_predicted(graph: Graph) -> Weights:
    """Return the weights of the baseline: lengths as recorded, lags as predicted from the other half of the steps."""
    return Weights(
        gap=graph.gap,
        call=graph.call,
        lead=graph.lead,
        dur=graph.dur,
        launch=graph.launch.whole,
        stream=graph.stream.whole,
        awaiting=graph.awaiting.whole,
        engine=graph.dur * 0.0,
        tail=graph.tail.whole,
        pace=graph.paces.lag,
    )


class Runs(msgspec.Struct, frozen=True):
    """A dependency graph cut into runs: calls of one lane in order, and what they launch on one stream in order.

    Elements are GPU slices, and host events without any, in the order of their lanes; runs are ranges of elements. Nothing from
    outside reaches into a run but at its start, and nothing outside needs to know of it but its end. So a run is three numbers:
    its time on the host, how long its GPU work ends after its start if only launches hold it up, and after the end of the work
    before it on its stream if only that does.
    """

    event: Integers  # of each element
    slice: Integers  # of each element; -1 for an event without any
    closes: Booleans  # whether an element is the last of its event
    first: Integers  # of each run: its first element
    last: Integers
    first_slice: Integers  # of each run: its first slice, -1 where it has none
    last_slice: Integers
    order: Integers  # the runs in the order in which they can be worked out
    run_of_slice: Integers  # of each slice that something outside its run needs: its run


def find_runs(graph: Graph) -> Runs:
    """Return the dependency graph cut into runs: stretches of calls in a lane, with the work that they launch on one stream."""
    event, piece, closes = _order_elements(graph)
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


def _order_elements(graph: Graph) -> tuple[Integers, Integers, Booleans]:
    """Return event and slice of each element, by lane and time, and whether it is the last of its event; slice -1 for none."""
    count = np.bincount(graph.event, minlength=len(graph.gap))
    alone = np.flatnonzero(count == 0)
    event = np.concatenate([graph.event, alone])
    piece = np.concatenate([np.arange(len(graph.event)), np.full(len(alone), NONE)])
    order = np.lexsort((piece, event, graph.lane[event]))
    event, piece = event[order], piece[order]
    closes = np.concatenate([event[1:] != event[:-1], [True]])
    return event, piece, closes


class RunLengths:
    """Computes how long runs last under weights; times on which weights agree with the `first` ones are computed once."""

    def __init__(self, found: Runs, first: Weights) -> None:
        self._runs, self._first = found, first
        self._piece, self._has = np.maximum(found.slice, 0), found.slice >= 0
        self._on_host = self._host_times(first)
        self._on_gpu = self._gpu_times(first) if self._has.any() else None

    def measure(self, weights: Weights) -> tuple[Floats, Floats, Floats, Floats]:
        """Return for each run its time on the host, and three times until its last slice ends, ns.

        These count from the run's start (if only launches hold slices up), from the end of the slice before it on its stream (if
        only stream order does), and from the start of its first slice.
        """
        found, first, piece = self._runs, self._first, self._piece
        same = weights.gap is first.gap and weights.call is first.call and weights.lead is first.lead
        host_time, given = self._on_host if same else self._host_times(weights)
        if self._on_gpu is None:
            nothing = np.full(len(found.first), -np.inf)
            return host_time, nothing, nothing, nothing
        same = weights.stream is first.stream and weights.dur is first.dur
        queue, begin = self._on_gpu if same else self._gpu_times(weights)
        ends = np.where(self._has, given + weights.launch[piece] + weights.dur[piece] - queue, -np.inf)
        until = queue[found.last]
        from_launch = np.maximum.reduceat(ends, found.first) + until
        from_before = until - begin
        return host_time, from_launch, from_before, from_before - weights.stream[np.maximum(found.first_slice, 0)]

    def _host_times(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return for each run its time on the host, and for each element the time from its run's start to its launch; ns."""
        found, event = self._runs, self._runs.event
        host = np.where(found.closes, weights.gap[event] + weights.call[event], 0.0)
        done = np.cumsum(host)
        start = done - host
        base = start[found.first]
        number = np.repeat(np.arange(len(found.first)), found.last - found.first + 1)
        return done[found.last] - base, start - base[number] + weights.gap[event] + weights.lead[event]

    def _gpu_times(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return GPU times if stream order alone held slices: up to the end of each element, and up to each run's start; ns."""
        length = np.where(self._has, weights.stream[self._piece] + weights.dur[self._piece], 0.0)
        queue = np.cumsum(length)
        return queue, queue[self._runs.first] - length[self._runs.first]


# So many numbers are held for the runs of the scenarios that are replayed together.
_MOST_AT_ONCE = 32_000_000


def replay(graph: Graph, scenarios: Sequence[Weights]) -> Floats:
    """Return the start of each step and the end of the last in each scenario, ns after the first recorded start.

    Shape: scenarios x (steps + 1).
    """
    replayed = Replay(graph)
    for scenario in scenarios:
        replayed.add(scenario)
    return replayed.take_marks()


class _RunWeights(NamedTuple):
    """Lengths of the runs under a scenario's weights, ns: all that a replay needs of the weights. See RunLengths.measure."""

    host: Floats
    launched: Floats
    queued: Floats
    started: Floats
    awaiting: Floats  # by run, of its first slice
    engine: Floats
    tail: Floats  # by edge of waits, from the end of what is waited for
    pace: Floats


class Replay:
    """Replays scenarios of a graph, as many at once as memory allows; of each only the lengths of its runs are kept."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._runs = graph, find_runs(graph)
        self._at_once = max(1, _MOST_AT_ONCE // max(4 * len(self._runs.first), 1))
        self._lengths: RunLengths | None = None
        self._measured: list[_RunWeights] = []
        self._marks: list[Floats] = []

    def add(self, weights: Weights) -> None:
        """Add a scenario by its weights; when memory holds no more scenarios, those added are replayed."""
        self._lengths = self._lengths or RunLengths(self._runs, weights)
        first = self._runs.first_slice[self._runs.first_slice >= 0]
        self._measured.append(
            _RunWeights(
                *self._lengths.measure(weights),
                weights.awaiting[first],
                weights.engine[first],
                _tail_times(self._graph, weights),
                weights.pace,
            )
        )
        if len(self._measured) == self._at_once:
            self._replay()

    def take_marks(self) -> Floats:
        """Return the step marks of all scenarios in the order in which they were added, as replay() does."""
        if self._measured:
            self._replay()
        return np.concatenate(self._marks)

    def _replay(self) -> None:
        # Rows by run: one row is what a step of the loop works on. Each is let go once it is among the others.
        """Replay the added scenarios that are not replayed yet, and keep their step marks."""
        columns = [list(column) for column in zip(*self._measured, strict=True)]
        self._measured = []
        every = _RunWeights(*(np.stack(columns.pop(0), axis=1) for _ in _RunWeights._fields))
        self._marks.append(_replay_scenarios(self._graph, self._runs, every))


def _replay_scenarios(graph: Graph, found: Runs, every: _RunWeights) -> Floats:
    """Return the start of each step and the end of the last in each scenario (row), ns after the first recorded start.

    The columns of `every` are scenarios.
    """
    host, launched, queued, started = every[:4]
    count = host.shape[1]
    held = _starts_held(graph, found, every)
    waits = _returns_held(graph, found, every)
    marks = np.zeros((len(graph.marked_by_slice) + 1, count))
    clock = {lane: np.zeros(count) for lane in np.unique(graph.lane).tolist()}
    behind: dict[int, Floats] = {}
    ends: list[Floats] = [np.zeros(0)] * len(found.first)
    latest = np.zeros(count)
    # Where nothing ends before what it follows, the last of each stream is the latest.
    in_order = bool((queued >= 0).all())
    lanes = graph.lane[found.event[found.first]].tolist()
    first_slice, last_slice = found.first_slice.tolist(), found.last_slice.tolist()
    streams = graph.stream_of[np.maximum(found.first_slice, 0)].tolist() if len(graph.stream_of) else []
    has_before = (graph.before[np.maximum(found.first_slice, 0)] >= 0).tolist() if len(graph.before) else []
    mark_of_run = graph.mark[found.event[found.last]]
    mark_of_run = np.where(found.closes[found.last], mark_of_run, NONE).tolist()
    mark_of_slice = {int(one): number for number, one in enumerate(graph.marked_by_slice.tolist()) if one >= 0}
    paced = _batches_paced(graph, found, every)
    returned: list[Floats] = [np.zeros(0)] * len(found.first)
    maximum = np.maximum
    for run in found.order.tolist():
        lane = lanes[run]
        now = clock[lane]
        if first_slice[run] >= 0:
            end = now + launched[run]
            if has_before[run]:
                maximum(end, behind[streams[run]] + queued[run], out=end)
            for other, lag in held.get(run, ()):
                maximum(end, ends[other] + lag, out=end)
            ends[run] = behind[streams[run]] = end
            if not in_order:
                maximum(latest, end, out=latest)
            if last_slice[run] in mark_of_slice:
                marks[mark_of_slice[last_slice[run]]] = end - started[run]
        now = now + host[run]
        for other, tail in waits.get(run, ()):
            maximum(now, ends[other] + tail, out=now)
        if run in paced:
            other, lag = paced[run]
            maximum(now, returned[other] + lag, out=now)
        clock[lane] = returned[run] = now
        if mark_of_run[run] >= 0 and not _is_on_gpu(graph, mark_of_run[run]):
            marks[mark_of_run[run]] = now
    # The last step lasts to the end of its work on the GPU.
    latest = np.max([latest, *(behind.values() if in_order else ())], axis=0)
    maximum(marks[-1], latest, out=marks[-1])
    return np.asarray(marks.T)


def _is_on_gpu(graph: Graph, mark: int) -> bool:
    """Return whether the step with this index starts with a GPU slice; false for the end of the last step."""
    return mark < len(graph.marked_by_slice) and bool(graph.marked_by_slice[mark] >= 0)


def _starts_held(graph: Graph, found: Runs, every: _RunWeights) -> dict[int, list[tuple[int, Floats]]]:
    """Return for each run what its first slice waits for beside stream order: the run that ends with that slice, and a lag.

    The lag is from the end of that run to the end of this one, ns by scenario.
    """
    held: dict[int, list[tuple[int, Floats]]] = {}
    with_slice = np.flatnonzero(found.first_slice >= 0)
    for others, lags in ((graph.awaited, every.awaiting), (graph.engine, every.engine)):
        other = others[found.first_slice[with_slice]]
        here = np.flatnonzero(other >= 0)
        until = lags[here] + every.started[with_slice[here]]
        ends = found.run_of_slice[other[here]].tolist()
        for number, run in enumerate(with_slice[here].tolist()):
            held.setdefault(run, []).append((ends[number], until[number]))
    return held


def _returns_held(graph: Graph, found: Runs, every: _RunWeights) -> dict[int, list[tuple[int, Floats]]]:
    """Return for each run the waits of its event's return: the run that ends with the awaited slice, lags by scenario in ns."""
    waits: dict[int, list[tuple[int, Floats]]] = {}
    if not len(graph.waits.event):
        return waits
    run_of_event = _run_of_event(graph, found)
    other = found.run_of_slice[graph.waits.slice].tolist()
    for edge, run in enumerate(run_of_event[graph.waits.event].tolist()):
        waits.setdefault(run, []).append((other[edge], every.tail[edge]))
    return waits


def _batches_paced(graph: Graph, found: Runs, every: _RunWeights) -> dict[int, tuple[int, Floats]]:
    """Return for each run that fetches a batch the run that fetched the last one, and how long after it this one is ready, ns."""
    if not len(graph.paces.event):
        return {}
    run_of_event = _run_of_event(graph, found)
    pairs = zip(run_of_event[graph.paces.event].tolist(), run_of_event[graph.paces.previous].tolist(), strict=True)
    return {run: (other, every.pace[number]) for number, (run, other) in enumerate(pairs)}


def _run_of_event(graph: Graph, found: Runs) -> Integers:
    """Return the index of the run in which each event ends."""
    run = np.full(len(graph.gap), NONE, dtype=np.int64)
    closing = np.flatnonzero(found.closes)
    run[found.event[closing]] = np.searchsorted(found.first, closing, side="right") - 1
    return run


def _tail_times(graph: Graph, weights: Weights) -> Floats:
    """Return for each wait the time from the end of the awaited slice to the call's return, ns.

    Waits for room in the launch queue are over when the slice starts: the duration of the slice is taken off.
    """
    is_queue = graph.waits.kind[graph.waits.event] == QUEUE
    return np.asarray(weights.tail - np.where(is_queue, weights.dur[graph.waits.slice], 0.0))
