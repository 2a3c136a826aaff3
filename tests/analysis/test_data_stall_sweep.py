"""Random fetches, copies and kernels against docs/metrics.md (fetching of input), one unit of time at a time."""

from __future__ import annotations

from collections import Counter

from builder import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st
from oracle import category_at
from tables import a_hundred, worlds

PARTS = "waiting, reading, transform, python, calls, unexplained"

WHAT = {
    "waiting": ("os", "poll"),
    "reading": ("os", "read"),
    "transform": ("op", "aten::stack"),
    "python": ("python", "d.py(1): f"),
    "calls": ("runtime", "cudaHostAlloc"),
}
INSIDE = st.lists(st.tuples(st.sampled_from(sorted(WHAT)), st.integers(0, 30), st.integers(1, 12)), max_size=4)
FETCH = st.lists(st.tuples(st.integers(0, 15), st.integers(1, 30), INSIDE), max_size=4)
GPU = st.lists(
    st.tuples(
        st.sampled_from(["kernel", "data", "forward"]), st.integers(0, 110), st.integers(1, 30), st.integers(7, 9)
    ),
    min_size=1,
    max_size=6,
)


def lay_out_fetches(fetches):
    """(ts, end, [(part, ts, end)]) one after the other from 10, none over the end of a step; what is inside one after the
    other, too."""
    at = 10
    for gap, dur, inside in fetches:
        at += gap
        at = next((end for _, end in STEPS if at < end < at + dur), at)
        parts, inner = [], at
        for part, skip, length in inside:
            start, end = inner + skip, min(inner + skip + length, at + dur)
            if start < end:
                parts.append((part, start, end))
                inner = end
        yield at, at + dur, parts
        at += dur


# Slices that outlast what they start in by 1 us or less are cut, as clocks round.
UNIT = 10_000


# From one world to the next: the steps of each, and what outlasts them.
APART = 300
STEPS = [(0, 60), (60, 120)]
STALLS = """
    select s.step, coalesce(l.dur, 0), s.data_wait, s.input_copy, s.idle_data, s.data_stall, s.hidden
    from data_stall as s left join time_ledger as l on l.step = s.step and l.category = 'idle_data'
"""


@a_hundred
@given(several=worlds(st.tuples(FETCH, GPU)))
def test_fetches_against_the_slow_way(several):
    trace = Scaled()
    several = [([(5, 8, []), *lay_out_fetches(fetches)], gpu) for fetches, gpu in several]
    for number, (fetches, gpu) in enumerate(several):
        add(trace, APART * number, fetches, gpu)
    trace.fill("launch_state", "copy_overlap", "data_interval", "data_fetch", "data_worker", "data_stall")
    found = trace.rows(f"select ts, dur, {PARTS} from data_fetch order by ts")
    assert found == [
        scale_times(UNIT, (APART * number + ts, *rest))
        for number, (fetches, _) in enumerate(several)
        for ts, *rest in parts_of(fetches)
    ]
    stalls = [rest for _, *rest in trace.rows(STALLS)]
    for number, (fetches, gpu) in enumerate(several):
        for step, (start, stop) in enumerate(STEPS):
            wait = UNIT * sum(start <= t < stop for ts, ts_end, _ in fetches for t in range(ts, ts_end))
            copy = UNIT * sum(is_input_alone(gpu, t) for t in range(start, stop))
            idle, *stall = stalls[3 * number + step]
            assert stall == [wait, copy, idle, idle + copy, wait - idle]
    assert trace.rows("select count(*) from data_fetch where stalled not between 0 and dur") == [(0,)]


def add(trace, at, fetches, gpu):
    """A world of two steps that begins at `at`; a third step takes the time to the next world."""
    for ts, end in (*STEPS, (120, APART)):
        trace.annotation(f"traceq.step#{at + ts}", at + ts, end - ts)
    trace.annotation("forward", at + 1, 3)
    trace.annotation("next_batch", at + 5, 3)
    for ts, end, inside in fetches[1:]:
        trace.annotation("next_batch", at + ts, end - ts)
        for part, start, stop in inside:
            trace.cpu(*WHAT[part], at + start, stop - start)
    for what, ts, dur, stream in gpu:
        if what == "kernel":
            trace.kernel("k", at + ts, dur, (at + 2, 0), stream=stream)
        else:
            called = (at + (6 if what == "data" else 2), 0)
            trace.memcpy("h2d", at + ts, dur, called, stream=stream, src_memory="pinned")


class Scaled(TraceBuilder):
    """Times in units."""

    def _slice(self, table, **columns):
        return super()._slice(table, **columns | {key: UNIT * columns[key] for key in ("ts", "dur")})


def scale_times(factor, numbers):
    return tuple(factor * number for number in numbers)


def parts_of(fetches):
    for ts, end, inside in fetches:
        counts = Counter({"unexplained": end - ts})
        for part, start, stop in inside:
            counts[part] += stop - start
            counts["unexplained"] -= stop - start
        yield ts, end - ts, *(counts[part] for part in PARTS.split(", "))


def is_input_alone(gpu, instant):
    slices = [("compute" if what == "kernel" else "copy_h2d", ts, dur) for what, ts, dur, _ in gpu]
    is_input = any(what == "data" and ts <= instant < ts + dur for what, ts, dur, _ in gpu)
    return is_input and category_at(slices, instant) == "copy_h2d"
