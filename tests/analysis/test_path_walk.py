"""The critical path, walked with columns, against a walk from node to node, on random graphs with random times."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from random_graphs import random_graphs

from traceq.analysis.categories import BUSY
from traceq.analysis.replay.critical_path import EDGES, SEGMENTS, find_critical_path
from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.waits import KINDS, QUEUE, previous_with_key

ORIGIN = 1_000_000


@st.composite
def draw_recording(draw):
    """Draw a graph and what was recorded of it: times that need not fit its edges."""
    graph = draw(random_graphs())
    count, size = len(graph.gap), len(graph.dur)

    def draw_some(length, values):
        return np.array([draw(values) for _ in range(length)])

    call, gap = draw_some(count, st.integers(0, 60)), draw_some(count, st.integers(0, 40))
    begun = np.zeros(count, dtype=np.int64)
    for lane in (0, 1):
        here = np.flatnonzero(graph.lane == lane)
        begun[here] = np.cumsum(gap[here] + call[here]) - call[here]
    ts = draw_some(size, st.integers(-30, 500)).astype(np.int64)
    lags = graph.launch.usual.copy()
    lags[draw_some(size, st.booleans()).astype(bool)] = -np.inf
    graph = replace(
        graph,
        lead=draw_some(count, st.sampled_from([0.0, 0.0, 20.0])).astype(np.float64),
        waits=graph.waits._replace(had_to=(graph.waits.kind != NONE) & draw_some(count, st.booleans()).astype(bool)),
        launch=graph.launch._replace(usual=lags),
        is_graph=draw_some(size, st.booleans()).astype(bool),
        uses_tensor=draw_some(size, st.booleans()).astype(bool),
        ends_on_gpu=draw(st.booleans()),
    )
    events = SimpleNamespace(
        ts=begun + ORIGIN, begun=begun + ORIGIN, call=call.astype(np.float64), lane=graph.lane,
        slice_id=np.where(graph.mark >= 0, NONE, 100 + np.arange(count)), thread=graph.lane + 5,
        is_outside=draw_some(count, st.sampled_from([False, False, False, True])).astype(bool),
        only_waits=draw_some(count, st.booleans()).astype(bool),
    )  # fmt: skip
    work = SimpleNamespace(
        ts=ts + ORIGIN, ts_end=ts + draw_some(size, st.integers(0, 60)).astype(np.int64) + ORIGIN, slice_id=np.arange(size),
        category=draw_some(size, st.integers(0, len(BUSY) - 1)).astype(np.int64),
    )  # fmt: skip
    return SimpleNamespace(ts=ORIGIN, events=events, work=work), graph


def from_node_to_node(recorded, graph):  # noqa: C901, PLR0915 - the two kinds of nodes share all that there is
    """The segments: ts, ts_end, kind, edge, slice, thread, unexplained."""
    events, work = recorded.events, recorded.work
    begun = (events.begun - ORIGIN).tolist()
    leave = (events.begun - ORIGIN + events.call.astype(np.int64)).tolist()
    ts, ts_end = (work.ts - ORIGIN).tolist(), (work.ts_end - ORIGIN).tolist()
    previous = previous_with_key(events.lane).tolist()
    found = []

    def back_from_slice(one, now):
        begin = min(max(ts[one], 0), now)
        kind = "gpu" if BUSY[work.category[one]] in ("compute", "memset") else "transfer"
        found.append((begin, now, kind, None, one, None, 0.0))
        event = int(graph.event[one])
        launched = begun[event] + graph.lead[event]
        # Of equals the first.
        sources = []
        if graph.launch.usual[one] != -np.inf:
            sources.append(
                (launched + graph.launch.usual[one], "launch", event, graph.launch.usual[one], int(launched))
            )
        for edge, others, lags in (
            ("stream", graph.before, graph.stream.usual),
            ("copy_engine", graph.engine, np.zeros(len(ts))),
            (
                "tensor" if graph.uses_tensor[one] else "graph" if graph.is_graph[one] else "event",
                graph.awaited,
                graph.awaiting.usual,
            ),
        ):
            other = int(others[one])
            if other >= 0 and (ts_end[other] <= begin + 1_000 or (edge == "stream" and ts[other] < begin)):
                sources.append((ts_end[other] + lags[one], edge, other, lags[one], ts_end[other]))
        if not sources:
            return None, begin
        _, edge, source, usual, until = max(sources, key=lambda each: each[0])
        until = max(min(until, begin), 0)
        found.append((until, begin, "wait", edge, one, None, max(begin - until - max(usual, 0.0), 0.0)))
        return ("launch" if edge == "launch" else "slice", source), until

    def back_from_launch(number, now):
        """A launch on its way is before the call returns, whatever the clocks say: it waits for nothing."""
        return back_from_event(number, now, returns=False)

    def back_from_event(number, now, *, returns=True):
        if events.is_outside[number]:
            return None, now
        thread, slice_id = int(events.thread[number]), int(events.slice_id[number])
        if returns and now >= leave[number] > begun[number] and graph.waits.had_to[number]:
            is_queue = graph.waits.kind[number] == QUEUE
            times = ts if is_queue else ts_end
            source = max(graph.waits.slice[graph.waits.event == number].tolist(), key=times.__getitem__)
            until = min(times[source], now)
            if until > begun[number]:
                waits = is_queue or events.only_waits[number]
                edge = KINDS[graph.waits.kind[number]] if waits else None
                found.append((until, now, "wait" if waits else "host", edge, slice_id, thread, 0.0))
                return ("slice", source), until
        begin = min(begun[number], now)
        before = leave[previous[number]] if previous[number] >= 0 else 0
        found.append((begin, now, "host", None, slice_id if slice_id >= 0 else None, thread, 0.0))
        found.append((max(before, 0), begin, "host", None, None, thread, 0.0))
        return (("event", previous[number]) if previous[number] >= 0 else None), min(before, begin)

    back = {"slice": back_from_slice, "event": back_from_event, "launch": back_from_launch}
    if graph.ends_on_gpu and ts:
        last = int(np.argmax(ts_end))
        node, now = ("slice", last), ts_end[last]
    else:
        last = int(np.flatnonzero(graph.mark >= 0)[-1])
        node, now = ("event", last), leave[last]
    while node and now > 0:
        node, now = back[node[0]](node[1], now)
    found.append((0, now, "wait", "start", None, None, float(now)))
    return [(begin + ORIGIN, end + ORIGIN, *rest) for begin, end, *rest in found[::-1] if end > begin]


@settings(max_examples=100, deadline=None)
@given(draw_recording())
def test_columns_give_the_path_that_nodes_give(recording):
    recorded, graph = recording
    path = find_critical_path(recorded, graph)
    columns = (*path[:6], path.has_thread, path.unexplained)
    assert [
        (
            ts,
            ts_end,
            SEGMENTS[kind],
            EDGES[edge] if edge >= 0 else None,
            slice_id if slice_id >= 0 else None,
            thread if has_thread else None,
            unexplained,
        )
        for ts, ts_end, kind, edge, slice_id, thread, has_thread, unexplained in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ] == from_node_to_node(recorded, graph)
