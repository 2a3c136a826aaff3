"""Replays a dependency graph in several scenarios at once: when each step starts, and when the last ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.replay.recorded import NONE, Floats, Integers
from traceq.analysis.replay.runs import Lengths, Runs, runs
from traceq.analysis.replay.waits import QUEUE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traceq.analysis.replay.graph import Graph
    from traceq.analysis.replay.weights import Weights

# So many numbers are held for the runs of the scenarios that are replayed together.
_MOST_AT_ONCE = 32_000_000


def replay(graph: Graph, scenarios: Sequence[Weights]) -> Floats:
    """Return marks by scenario: when each step starts, and when the last ends, ns after the first recorded start.

    Shape: scenarios x (steps + 1).
    """
    replayed = Replay(graph)
    for each in scenarios:
        replayed.add(each)
    return replayed.marks()


class _Measured(NamedTuple):
    """Lengths of the runs under a scenario's weights: all that a replay needs of them. Times in ns; see lengths and _held."""

    host: Floats
    launched: Floats
    queued: Floats
    started: Floats
    awaiting: Floats  # by run, of its first slice
    engine: Floats
    tail: Floats  # by edge of waits, from the end of what is waited for
    pace: Floats


class Replay:
    """Replays scenarios of one graph, as many at once as memory allows; their weights are let go when they are added."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._runs = graph, runs(graph)
        self._at_once = max(1, _MOST_AT_ONCE // max(4 * len(self._runs.first), 1))
        self._lengths: Lengths | None = None
        self._measured: list[_Measured] = []
        self._marks: list[Floats] = []

    def add(self, weights: Weights) -> None:
        """One more scenario."""
        self._lengths = self._lengths or Lengths(self._runs, weights)
        first = self._runs.first_slice[self._runs.first_slice >= 0]
        self._measured.append(
            _Measured(
                *self._lengths.of(weights),
                weights.awaiting[first],
                weights.engine[first],
                _until_return(self._graph, weights),
                weights.pace,
            )
        )
        if len(self._measured) == self._at_once:
            self._replay()

    def marks(self) -> Floats:
        """Return the marks of the scenarios in the order in which they were added, see replay."""
        if self._measured:
            self._replay()
        return np.concatenate(self._marks)

    def _replay(self) -> None:
        # Rows by run: one row is what a step of the loop works on. Each is let go once it is among the others.
        columns = [list(each) for each in zip(*self._measured, strict=True)]
        self._measured = []
        every = _Measured(*(np.stack(columns.pop(0), axis=1) for _ in _Measured._fields))
        self._marks.append(_replayed(self._graph, self._runs, every))


def _replayed(graph: Graph, found: Runs, every: _Measured) -> Floats:
    """Return marks by scenario; the columns of `every` are scenarios."""
    host, launched, queued, started = every[:4]
    count = host.shape[1]
    held = _held(graph, found, every)
    waits = _waits(graph, found, every)
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
    paced = _paced(graph, found, every)
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
    return mark < len(graph.marked_by_slice) and bool(graph.marked_by_slice[mark] >= 0)


def _held(graph: Graph, found: Runs, every: _Measured) -> dict[int, list[tuple[int, Floats]]]:
    """Return by run what its first slice waits for beside its stream: the run that ends with it, and its own time after it."""
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


def _waits(graph: Graph, found: Runs, every: _Measured) -> dict[int, list[tuple[int, Floats]]]:
    """Return by run what its event waits for before it returns: the run that ends with it, and the time from that end."""
    waits: dict[int, list[tuple[int, Floats]]] = {}
    if not len(graph.waits.event):
        return waits
    run_of_event = _run_of_event(graph, found)
    other = found.run_of_slice[graph.waits.slice].tolist()
    for edge, run in enumerate(run_of_event[graph.waits.event].tolist()):
        waits.setdefault(run, []).append((other[edge], every.tail[edge]))
    return waits


def _paced(graph: Graph, found: Runs, every: _Measured) -> dict[int, tuple[int, Floats]]:
    """Return by run that fetches a batch the run that fetched the one before, and how long after that the batch is there."""
    if not len(graph.paces.event):
        return {}
    run_of_event = _run_of_event(graph, found)
    pairs = zip(run_of_event[graph.paces.event].tolist(), run_of_event[graph.paces.previous].tolist(), strict=True)
    return {run: (other, every.pace[number]) for number, (run, other) in enumerate(pairs)}


def _run_of_event(graph: Graph, found: Runs) -> Integers:
    """Return the run in which each event ends."""
    run = np.full(len(graph.gap), NONE, dtype=np.int64)
    closing = np.flatnonzero(found.closes)
    run[found.event[closing]] = np.searchsorted(found.first, closing, side="right") - 1
    return run


def _until_return(graph: Graph, weights: Weights) -> Floats:
    """Return the time from the end of the awaited work; waits for room in the queue count from its start."""
    is_queue = graph.waits.kind[graph.waits.event] == QUEUE
    return np.asarray(weights.tail - np.where(is_queue, weights.dur[graph.waits.slice], 0.0))
