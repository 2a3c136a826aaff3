"""The training thread's time, as rules about the host see it, is that of host_ledger, with what others do at each instant."""

from __future__ import annotations

from collections import Counter

from builder import TraceBuilder
from hypothesis import example, given, settings
from hypothesis import strategies as st

from traceq.diagnosis.query import shared_query

STEP, STEPS = 20, 12
NAMES = {
    "op": ("aten::mm", "aten::item"),
    "annotation": ("load_batch", "## backward ##", "gloo:all_reduce"),
    "os": ("poll",),
}

inside = st.tuples(
    st.sampled_from([(kind, name) for kind, names in NAMES.items() for name in names]),
    st.integers(0, STEP * STEPS - 1),
    st.integers(1, STEP),
)


def nested(slices):
    """Those of the slices that lie in one another or apart: (kind, name), start, end."""
    kept = []
    for what, ts, dur in slices:
        end = min(ts + dur, STEP * STEPS)
        if all(end <= t or ts >= e or (t < ts and end < e) or (ts < t and e < end) for _, t, e in kept):
            kept.append((what, ts, end))
    return kept


@settings(max_examples=10, deadline=None)
@given(st.lists(inside, min_size=12, max_size=32), st.lists(inside, min_size=8, max_size=20))
@example([], [])
def test_each_instant_has_what_the_thread_is_in_and_what_others_do(own, others):
    trace = TraceBuilder()
    own, others = nested(own), nested(others)
    for step in range(STEPS):
        trace.annotation(f"ProfilerStep#{step}", STEP * step, STEP)
    # slices that cross the end of a step are in none: annotations of steps nest
    own = [each for each in own if each[1] // STEP == (each[2] - 1) // STEP and each[2] - each[1] < STEP]
    for thread, slices in ((0, own), (1, others)):
        for (kind, name), ts, end in slices:
            trace.cpu(kind, name, ts, end - ts, thread=thread)
    trace.fill("host_ledger")
    query = shared_query("host_time").text.replace("$trace_id", "1")
    found = trace.rows(f"select category, phase, sum(dur)::bigint from ({query}) group by all order by all")
    counted = [step for (step,) in trace.rows("select step from step where excluded is null")]
    assert found == trace.rows(
        "select h.category, h.phase, sum(h.dur)::bigint from host_ledger as h"
        " inner join step as s using (trace_id, step) where s.excluded is null group by all order by all"
    )
    times = dict(trace.rows(f"select elsewhere, sum(dur)::bigint from ({query}) group by all"))
    assert times == Counter(elsewhere(others, at) for at in range(STEP * STEPS) if at // STEP in counted)


def elsewhere(others, at):
    open_ = [what for what, ts, end in others if ts <= at < end]
    if ("annotation", "gloo:all_reduce") in open_:
        return "communication"
    return "operators" if any(kind == "op" for kind, _ in open_) else None


def test_without_a_host_there_is_no_time():
    trace = TraceBuilder()
    trace.kernel("gemm", 0, 10)
    trace.fill_all()
    assert trace.rows(shared_query("host_time").text.replace("$trace_id", "1")) == []
