"""Random dependency graphs of a few host events and GPU slices."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from traceq.analysis.replay.graph import Graph, Lag
from traceq.analysis.replay.recorded import NONE
from traceq.analysis.replay.waits import QUEUE, SYNCHRONIZATION, Paces, Waits, previous_with_key

TIMES = st.integers(0, 50).map(float)


@st.composite
def random_graphs(draw):
    """Up to 12 host events on two lanes, which launch slices on three streams, wait for events, engines and one another."""
    count = draw(st.integers(1, 12))
    lane = np.array([draw(st.integers(0, 1)) for _ in range(count)], dtype=np.int64)
    marks = np.full(count, NONE, dtype=np.int64)
    marked = sorted(draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3)) | {count - 1})
    marks[marked] = np.arange(len(marked))
    launched = [draw(st.integers(0, 2)) if marks[n] == NONE else 0 for n in range(count)]
    event = np.repeat(np.arange(count), launched)
    size = len(event)

    def draw_earlier(n):
        return draw(st.one_of(st.just(NONE), st.integers(0, n - 1))) if n else NONE

    stream = np.array([draw(st.integers(0, 2)) for _ in range(size)], dtype=np.int64)
    engine = np.array([draw_earlier(n) for n in range(size)], dtype=np.int64)
    awaited = np.array([draw_earlier(n) for n in range(size)], dtype=np.int64)
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

    def draw_times(length):
        return np.array([draw(TIMES) for _ in range(length)], dtype=np.float64)

    def draw_lag(length):
        return Lag(draw_times(length), np.zeros(length))

    by_slice = np.full(len(marked) - 1, NONE, dtype=np.int64)
    if size and len(by_slice) and draw(st.booleans()):
        by_slice[0] = draw(st.integers(0, size - 1))
    return Graph(
        lane=lane, gap=draw_times(count), call=draw_times(count), lead=draw_times(count), mark=marks, marked_by_slice=by_slice,
        waits=waits, tail=draw_lag(len(edges)), paces=paces, event=event.astype(np.int64), stream_of=stream,
        before=previous_with_key(stream), engine=engine, awaited=awaited, is_graph=np.zeros(size, dtype=bool),
        uses_tensor=np.zeros(size, dtype=bool),
        launch=draw_lag(size), stream=draw_lag(size), awaiting=draw_lag(size), dur=draw_times(size),
        category=np.zeros(size, dtype=np.int64), ends_on_gpu=False, span=0.0,
    )  # fmt: skip
