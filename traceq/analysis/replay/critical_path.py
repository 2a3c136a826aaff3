"""The critical path of the steps as they were recorded: what each instant of them waited for, from the end back to the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from traceq.analysis.categories import BUSY
from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.waits import KINDS, QUEUE, before_in

if TYPE_CHECKING:
    from traceq.analysis.replay.graph import Graph
    from traceq.analysis.replay.recorded import Recorded

_TRANSFERS = ("communication", "copy_h2d", "copy_d2h", "copy_other")

# GPU clocks of one device are exact, those of several agree to this, ns.
_CLOCK_ERROR = 1_000


class Segment(NamedTuple):
    """A stretch of the path, from `ts` to `ts_end` (ns). What follows it is the segment before in the list: the path goes back.

    `kind`: host (a thread works, in the call `slice_id` or on the way to it), gpu, transfer (a copy or collective), or wait;
    `edge` of a wait: launch, stream, copy_engine, event, graph, synchronization, blocking_copy, queue, allocation, start.
    `unexplained` of a wait: the part that nothing explains, ns.
    """

    ts: int
    ts_end: int
    kind: str
    slice_id: int | None
    thread: int | None
    edge: str | None = None
    unexplained: float = 0.0


def critical_path(recorded: Recorded, graph: Graph) -> list[Segment]:
    """The path from the end of the last step, or of all its work when that is later, to the start of the first; in order of time.

    Each piece of work is followed to what let it begin last: of the edges of the graph the one whose source, plus what is usual
    on the edge, was latest. The segments follow one another without gaps.
    """
    return _Walk(recorded, graph).path()


class _Walk:
    """The arrays of a graph as lists, which single look-ups are faster in."""

    def __init__(self, recorded: Recorded, graph: Graph) -> None:
        events, work = recorded.events, recorded.work
        # Relative to the start: what is added to times are floats, which are exact to 2^53.
        self._start, self._base = 0, recorded.ts
        # From the end to the start.
        self._segments: list[Segment] = []
        self._ends_on_gpu = graph.ends_on_gpu
        self._events = events
        begun = events.begun - recorded.ts
        self._begun, self._leave = begun.tolist(), (begun + events.call.astype(np.int64)).tolist()
        self._outside = events.is_outside.tolist()
        self._previous = before_in(events.lane).tolist()
        self._mark = events.mark.tolist()
        self._thread = events.thread.tolist()
        self._event_id = events.slice_id.tolist()
        self._ts, self._ts_end = (work.ts - recorded.ts).tolist(), (work.ts_end - recorded.ts).tolist()
        self._slice_id = work.slice_id.tolist()
        self._category = work.category.tolist()
        self._graph = graph
        self._work_event = graph.event.tolist()
        self._lead = graph.lead.tolist()
        self._edges = [
            ("stream", graph.before.tolist(), graph.stream),
            ("copy_engine", graph.engine.tolist(), None),
            ("event", graph.awaited.tolist(), graph.awaiting),
        ]
        self._lags = [None if lag is None else lag.usual.tolist() for _, _, lag in self._edges]
        self._launch = graph.launch.usual.tolist()
        self._wait_first = np.searchsorted(graph.waits.event, np.arange(len(events.ts)), side="left").tolist()
        self._wait_last = np.searchsorted(graph.waits.event, np.arange(len(events.ts)), side="right").tolist()
        self._wait_slice = graph.waits.slice.tolist()
        self._wait_kind = graph.waits.kind.tolist()
        self._only_waits = events.only_waits.tolist()
        self._had_to = graph.waits.had_to.tolist()

    def path(self) -> list[Segment]:
        last_mark = max((n for n, mark in enumerate(self._mark) if mark >= 0), default=NONE)
        if self._ends_on_gpu and self._ts_end:
            number, is_slice = int(np.argmax(self._ts_end)), True
            now = self._ts_end[number]
        else:
            number, is_slice = last_mark, False
            now = self._leave[number]
        while now > self._start:
            number, is_slice, now = (
                self._back_from_slice(number, now) if is_slice else self._back_from_event(number, now)
            )
            if number == NONE:
                break
        if now > self._start:
            self._found(self._start, now, "wait", None, None, "start", float(now - self._start))
        return self._segments[::-1]

    def _found(self, ts: int, ts_end: int, *rest: Any) -> None:
        if ts_end > ts:
            self._segments.append(Segment(ts + self._base, ts_end + self._base, *rest))

    def _back_from_slice(self, number: int, now: int) -> tuple[int, bool, int]:
        """From the end (or a time inside) of a slice to what let it start."""
        begin = min(max(self._ts[number], self._start), now)
        kind = "transfer" if BUSY[self._category[number]] in _TRANSFERS else "gpu"
        self._found(begin, now, kind, self._slice_id[number], None)
        best, source, name, usual = float("-inf"), NONE, "start", 0.0
        event = self._work_event[number]
        launched = self._begun[event] + self._lead[event]
        if self._launch[number] != float("-inf"):
            best, source, name, usual = launched + self._launch[number], event, "launch", self._launch[number]
        for (edge, others, _), lags in zip(self._edges, self._lags, strict=True):
            other = others[number]
            if other != NONE:
                lag = 0.0 if lags is None else lags[number]
                # On one stream work may begin a little before the end of what is before it.
                is_over = self._ts_end[other] <= begin + _CLOCK_ERROR or (edge == "stream" and self._ts[other] < begin)
                if is_over and self._ts_end[other] + lag > best:
                    best, source, name, usual = self._ts_end[other] + lag, other, edge, lag
        if source == NONE:
            return NONE, False, begin
        if name == "event" and self._graph.is_graph[number]:
            name = "graph"
        until = max(min(int(launched) if name == "launch" else self._ts_end[source], begin), self._start)
        unexplained = max(begin - until - max(usual, 0.0), 0.0)
        self._found(until, begin, "wait", self._slice_id[number], None, name, unexplained)
        return source, name != "launch", until

    def _back_from_event(self, number: int, now: int) -> tuple[int, bool, int]:
        """From a time in a host event, or its return, to what let it come so far."""
        begun = self._begun[number]
        if self._outside[number]:
            return NONE, False, now
        thread, slice_id = self._thread[number], self._event_id[number]
        if now >= self._leave[number] > begun and self._had_to[number]:
            edges = self._wait_slice[self._wait_first[number] : self._wait_last[number]]
            times = self._ts if self._wait_kind[number] == QUEUE else self._ts_end
            source = max(edges, key=lambda one: times[one])
            until = min(times[source], now)
            if until > begun:
                if self._only_waits[number] or self._wait_kind[number] == QUEUE:
                    self._found(until, now, "wait", slice_id, thread, KINDS[self._wait_kind[number]])
                else:  # what frees or allocates memory works after it has waited
                    self._found(until, now, "host", slice_id, thread)
                return source, True, until
        begin = min(begun, now)
        previous = self._previous[number]
        before = self._start if previous == NONE else self._leave[previous]
        self._found(begin, now, "host", slice_id if slice_id >= 0 else None, thread)
        if begin > before:
            self._found(max(before, self._start), begin, "host", None, thread)
        return previous, False, min(before, begin)
