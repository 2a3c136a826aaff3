"""The critical path of the steps as they were recorded: what each instant of them waited for, from the end back to the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from traceq.analysis.categories import BUSY
from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.waits import KINDS, QUEUE, previous_with_key

if TYPE_CHECKING:
    from traceq.analysis.replay.graph import Graph, Lag
    from traceq.analysis.replay.recorded import Booleans, Floats, Integers, Recorded

Codes = npt.NDArray[np.int8]  # positions in a list of words, -1 for none

# What a segment is, and of a wait the kind of its edge.
SEGMENTS = ("host", "gpu", "transfer", "wait")
EDGES = ("launch", "stream", "copy_engine", "event", "graph", "tensor", *KINDS, "start")
_HOST, _GPU, _TRANSFER, _WAIT = range(4)
_LAUNCH, _STREAM, _ENGINE, _EVENT, _GRAPH, _TENSOR = range(6)
_FIRST_RETURN = EDGES.index(KINDS[0])
_START = EDGES.index("start")
_IS_TRANSFER = np.array([name in ("communication", "copy_h2d", "copy_d2h", "copy_other") for name in BUSY])

# GPU clocks of one device are exact, those of several agree to this, ns.
_CLOCK_ERROR = 1_000

# Nodes that are worked out together: what is between takes memory.
_AT_ONCE = 1 << 18


class CriticalPath(NamedTuple):
    """The critical path as columns, an element per segment, in the order of time and without gaps; times in ns.

    `kind` is an index into SEGMENTS: host (a thread works, in the call `slice_id` or on the way to it), gpu, transfer
    (a copy or collective), or wait; for waits, `edge` is an index into EDGES. `slice_id` is -1 for none; `thread`
    counts only where `has_thread`. `unexplained` is the part of a wait for which the trace has no reason.
    """

    ts: Integers
    ts_end: Integers
    kind: Codes
    edge: Codes
    slice_id: Integers
    thread: Integers
    unexplained: Floats

    @property
    def has_thread(self) -> Booleans:
        """Mask of the segments in which a host thread works or waits."""
        return np.asarray((self.kind == _HOST) | (self.edge >= _FIRST_RETURN) & (self.edge < _START))


def find_critical_path(recorded: Recorded, graph: Graph) -> CriticalPath:
    """Return the critical path from the start of the first step to the end of the last, or of all its work if that is later.

    It is followed back from the end: each piece of work along the edge that let it begin last, which is the one whose source
    end plus usual lag was latest.
    """
    walk = _PathGraph(recorded, graph)
    nodes, now, left = _walk_back(walk)
    events = walk.is_event(nodes)
    slices = ~events
    # Of each node what follows its begin, then what is before it: the path goes back.
    types = (np.int64, np.int64, np.int8, np.int8, np.int64, np.int64, np.float64)
    columns = [np.zeros((2, len(nodes)), dtype) for dtype in types]
    for which, segments in (
        (slices, walk.segments_of_slices(walk.slices_of(nodes[slices]), now[slices])),
        (events, walk.segments_of_events(nodes[events], now[events])),
    ):
        for row, found in enumerate(segments):
            for column, values in zip(columns, found, strict=True):
                column[row, which] = values
    flat = [column.T.reshape(-1) for column in columns]
    if left > 0:
        last = (0, left, _WAIT, _START, NONE, NONE, float(left))
        flat = [np.append(column, np.array([value], column.dtype)) for column, value in zip(flat, last, strict=True)]
    lasts = np.flatnonzero(flat[1] > flat[0])[::-1]
    ts, ts_end, *rest = (column[lasts] for column in flat)
    return CriticalPath(ts + recorded.ts, ts_end + recorded.ts, *rest)


class _Predecessors(NamedTuple):
    """The predecessor of each node on the path (-1: none), and the time (ns) at which the path, going back, comes to it."""

    until: Integers
    node: Integers


class _FromSlices(NamedTuple):
    """Begins (ns) of GPU slices on the path, the edge on which the path goes back from each, and its usual lag (ns).

    `edge` is an index into EDGES.
    """

    begin: Integers
    edge: Codes
    usual: Floats
    back: _Predecessors


class _FromEvents(NamedTuple):
    """Begins (ns) of host events on the path, and the end (ns) of the event before each.

    `waits` tells whether the path goes back to GPU work that the event waited for.
    """

    begin: Integers
    before: Integers
    waits: Booleans
    back: _Predecessors


class _PathGraph:
    """The dependency graph as nodes of the path; times in ns from the start of the first step.

    Nodes are numbered in this order: GPU slices; returns of host events; host events when their launches are on their
    way; slices that a call returned from before they began by their clock.
    """

    def __init__(self, recorded: Recorded, graph: Graph) -> None:
        self._events, self._work, self._graph = recorded.events, recorded.work, graph
        self.slices, self.events = len(recorded.work.ts), len(recorded.events.ts)
        self._begun = recorded.events.begun - recorded.ts
        self._leave = self._begun + recorded.events.call.astype(np.int64)
        self._previous = previous_with_key(recorded.events.lane)
        self._ts, self._ts_end = recorded.work.ts - recorded.ts, recorded.work.ts_end - recorded.ts
        self._latest, self._awaited = self._find_last_awaited()
        self._first_early = self.slices + 2 * self.events
        until = np.minimum(self._awaited, self._leave)
        begin = np.maximum(self._ts, 0)[self._latest] if self.slices else until
        early = np.flatnonzero(self._is_return(np.arange(self.events), until) & (until < begin))
        self._early, self._early_now = self._latest[early], until[early]
        self._early_of = np.full(self.events, NONE, np.int64)
        self._early_of[early] = self._first_early + np.arange(len(early))

    def start(self) -> tuple[int, int]:
        """Return the last node of the path, from which it is walked back, and when the path ends there, ns."""
        if self._graph.ends_on_gpu and self.slices:
            number = int(self._ts_end.argmax())
            return number, int(self._ts_end[number])
        number = int(np.flatnonzero(self._graph.mark >= 0)[-1])
        return self.slices + number, int(self._leave[number])

    def step_back(self, nodes: Integers, now: Integers) -> _Predecessors:
        """Return the predecessors on the critical path of `nodes`, to which it came at the times `now` (ns)."""
        until, node = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        events = self.is_event(nodes)
        slices = ~events
        for which, found in (
            (slices, self._from_slices(self.slices_of(nodes[slices]), now[slices]).back),
            (events, self._from_events(nodes[events], now[events]).back),
        ):
            until[which], node[which] = found
        return _Predecessors(until, node)

    def find_bounds(self) -> tuple[Integers, Integers]:
        """Return two times (ns) for each node: when the path usually comes to it, and the earliest at which it goes on as usual.

        Where the path comes earlier, its predecessor has to be worked out again.
        """
        begin = np.maximum(self._ts, 0)
        before = self._end_of_previous(np.arange(self.events))
        # At what is outside the path ends, whenever it comes there.
        before = np.where(self._events.is_outside, np.iinfo(np.int64).max, before)
        at_return = np.where(self._graph.waits.had_to, np.maximum(self._leave, before), before)
        usual = np.concatenate([self._ts_end, self._leave, self._leave, self._early_now])
        return usual, np.concatenate([begin, at_return, before, self._early_now])

    def is_event(self, nodes: Integers) -> Booleans:
        """Return a mask of the nodes that are host events."""
        return np.asarray((nodes >= self.slices) & (nodes < self._first_early))

    def slices_of(self, nodes: Integers) -> Integers:
        """Return the index of the GPU slice of each node; the nodes must not be host events."""
        found = nodes.copy()
        early = nodes >= self._first_early
        found[early] = self._early[nodes[early] - self._first_early]
        return found

    def segments_of_slices(self, number: Integers, now: Integers) -> tuple[CriticalPath, CriticalPath]:
        """Return the segments of GPU slices up to the times `now`, and the segments of the waits before them.

        Times are in ns from the start of the first step.
        """
        found = self._from_slices(number, now)
        slice_id = self._work.slice_id[number]
        none = np.full(len(number), NONE, np.int64)
        kind = np.where(_IS_TRANSFER[self._work.category[number]], _TRANSFER, _GPU).astype(np.int8)
        waited = found.begin - found.back.until - np.maximum(found.usual, 0.0)
        nothing, wait = np.zeros(len(number)), np.full(len(number), _WAIT, np.int8)
        return (
            CriticalPath(found.begin, now, kind, none.astype(np.int8), slice_id, none, nothing),
            CriticalPath(found.back.until, found.begin, wait, found.edge, slice_id, none, np.maximum(waited, 0.0)),
        )

    def segments_of_events(self, nodes: Integers, now: Integers) -> tuple[CriticalPath, CriticalPath]:
        """Return the segments in calls (work or wait) up to the times `now`, and the thread's segments before them.

        Times are in ns from the start of the first step.
        """
        found = self._from_events(nodes, now)
        number, _ = self._split_event(nodes)
        slice_id, thread = self._events.slice_id[number], self._events.thread[number]
        none = np.full(len(nodes), NONE, np.int64)
        kind_of_wait = self._graph.waits.kind[number]
        # What frees or allocates memory works after it has waited.
        only_waits = found.waits & (self._events.only_waits[number] | (kind_of_wait == QUEUE))
        kind = np.where(only_waits, _WAIT, _HOST).astype(np.int8)
        edge = np.where(only_waits, _FIRST_RETURN + kind_of_wait, NONE).astype(np.int8)
        is_outside = self._events.is_outside[number]
        begin = np.where(found.waits, found.back.until, np.where(is_outside, now, found.begin))
        way = np.where(found.waits | is_outside, found.begin, np.maximum(found.before, 0))
        host, nothing = np.full(len(nodes), _HOST, np.int8), np.zeros(len(nodes))
        return (
            CriticalPath(begin, now, kind, edge, np.where(slice_id >= 0, slice_id, NONE), thread, nothing),
            CriticalPath(way, found.begin, host, none.astype(np.int8), none, thread, nothing),
        )

    def _from_slices(self, number: Integers, now: Integers) -> _FromSlices:
        """Return for GPU slices, by index, their begin and where the path goes back to; it came to them at `now` (ns)."""
        graph = self._graph
        begin = np.minimum(np.maximum(self._ts[number], 0), now)
        event = graph.event[number]
        launched = self._begun[event] + graph.lead[event]
        launch = graph.launch.usual[number]
        is_known = launch != -np.inf
        best = launched + launch
        edge = np.where(is_known, _LAUNCH, _START).astype(np.int8)
        source = np.where(is_known, self.slices + self.events + event, NONE)
        usual = np.where(is_known, launch, 0.0)
        until = launched.astype(np.int64)
        edges: tuple[tuple[int, Integers, Lag | None], ...] = (
            (_STREAM, graph.before, graph.stream),
            (_ENGINE, graph.engine, None),
            (_EVENT, graph.awaited, graph.awaiting),
        )
        for name, others, lags in edges:
            other = others[number]
            at = np.maximum(other, 0)
            ends = self._ts_end[at]
            lag = np.zeros(len(number)) if lags is None else lags.usual[number]
            is_over = ends <= begin + _CLOCK_ERROR
            if name == _STREAM:  # on one stream work may begin a little before the end of what is before it
                is_over |= self._ts[at] < begin
            later = (other >= 0) & is_over & (ends + lag > best)
            best[later], edge[later], source[later] = (ends + lag)[later], name, other[later]
            usual[later], until[later] = lag[later], ends[later]
        is_event = edge == _EVENT
        edge[is_event & graph.is_graph[number]] = _GRAPH
        edge[is_event & graph.uses_tensor[number]] = _TENSOR
        until = np.where(source == NONE, begin, np.maximum(np.minimum(until, begin), 0))
        return _FromSlices(begin, edge, usual, _Predecessors(until, source))

    def _from_events(self, nodes: Integers, now: Integers) -> _FromEvents:
        """Return for nodes that are host events their begin and where the path goes back to; it came to them at `now` (ns)."""
        number, at_return = self._split_event(nodes)
        is_outside = self._events.is_outside[number]
        until = np.minimum(self._awaited[number], now)
        waits = at_return & (now >= self._leave[number]) & self._is_return(number, until)
        begin, before = np.minimum(self._begun[number], now), self._end_of_previous(number)
        previous = self._previous[number]
        node = np.where(previous >= 0, self.slices + previous, NONE)
        source = np.where(self._early_of[number] >= 0, self._early_of[number], self._latest[number])
        node = np.where(is_outside, NONE, np.where(waits, source, node))
        until = np.where(is_outside, now, np.where(waits, until, np.minimum(before, begin)))
        return _FromEvents(begin, before, waits, _Predecessors(until, node))

    def _is_return(self, number: Integers, until: Integers) -> Booleans:
        """Return a mask of the events that had to wait inside their call for work that was done at `until` (ns)."""
        begun, is_outside = self._begun[number], self._events.is_outside[number]
        had_to = self._graph.waits.had_to[number] & (self._leave[number] > begun)
        return np.asarray(had_to & (until > begun) & ~is_outside)

    def _split_event(self, nodes: Integers) -> tuple[Integers, Booleans]:
        """Return the index of each node's host event, and whether the node is the event's return."""
        number = nodes - self.slices
        at_return = number < self.events
        return np.where(at_return, number, number - self.events), at_return

    def _end_of_previous(self, number: Integers) -> Integers:
        """Return for each event, by index, the end of the event before it in its lane, ns; 0 for the first."""
        previous = self._previous[number]
        return np.where(previous >= 0, self._leave[np.maximum(previous, 0)], 0)

    def _find_last_awaited(self) -> tuple[Integers, Integers]:
        """Return for each event the slice that it waited for last (the first of several), and until when (ns).

        Both are -1 for events that waited for none.
        """
        waits = self._graph.waits
        times = np.where(waits.kind[waits.event] == QUEUE, self._ts[waits.slice], self._ts_end[waits.slice])
        order = np.lexsort((-times, waits.event))
        event, first = np.unique(waits.event[order], return_index=True)
        found, until = np.full(self.events, NONE, np.int64), np.full(self.events, NONE, np.int64)
        found[event], until[event] = waits.slice[order[first]], times[order[first]]
        return found, until


def _walk_back(walk: _PathGraph) -> tuple[Integers, Integers, int]:
    """Return the nodes of the path from its end back, the time at which it comes to each, and the time left where it stops; ns.

    Where clocks disagree, nodes may have waited for each other: a path of more nodes than there are goes in a circle,
    and is cut.
    """
    usual, needed = walk.find_bounds()
    blocks = [np.arange(first, min(first + _AT_ONCE, len(usual))) for first in range(0, len(usual), _AT_ONCE)]
    back = _Predecessors(
        *map(np.concatenate, zip(*[walk.step_back(block, usual[block]) for block in blocks], strict=True))
    )
    is_usual = (back.node >= 0) & (back.until > 0) & (back.until >= needed[np.maximum(back.node, 0)])
    following: memoryview[int] = memoryview(np.where(is_usual, back.node, NONE).data)
    node, now = walk.start()
    found: list[Integers] = []
    times: list[Integers] = []
    visited = 0
    while node != NONE and now > 0 and visited <= len(usual):
        visited += 1
        if now < needed[node]:
            found.append(np.array([node]))
            times.append(np.array([now]))
            until, before = walk.step_back(found[-1], times[-1])
            node, now = int(before[0]), int(until[0])
            continue
        chain = []
        for _ in range(len(usual)):
            chain.append(node)
            node = following[node]
            if node == NONE:
                break
        visited += len(chain)
        nodes = np.array(chain)
        found.append(nodes)
        times.append(np.append(now, back.until[nodes[:-1]]))
        node, now = int(back.node[nodes[-1]]), int(back.until[nodes[-1]])
    nothing = np.zeros(0, np.int64)
    return np.concatenate([nothing, *found]), np.concatenate([nothing, *times]), now
