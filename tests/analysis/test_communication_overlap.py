"""Communication against compute, and what held up compute, against a slow and sure reading."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from builder import TraceBuilder
from hypothesis import example, given
from hypothesis import strategies as st
from tables import a_hundred, worlds

KINDS = ["compute", "compute", "compute", "communication", "communication", "communication", "copy", "graph"]
NAMES = {"compute": "gemm", "communication": "ncclDevKernel_AllReduce", "copy": "Memcpy", "graph": "graph"}
END = 60


class Work(NamedTuple):
    slice_id: int
    kind: str
    stream: int
    ts: int
    end: int
    issued: int


ITEM = st.tuples(
    st.sampled_from(KINDS),
    st.integers(1, 2),  # stream
    st.sampled_from([0, 1, 5, 15, 25]),  # later than the one before on the stream
    st.integers(0, 15),  # duration
    st.integers(1, 40),  # launched so long before
    st.sampled_from([0, 1, 2]),  # waits for the work so far on that stream; 0 for none
)
DEVICE = st.lists(ITEM, max_size=7)


def build_work(devices):
    """Build each device's items one after the other on their streams, launched in this order."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", -400, 400 + END // 2)
    trace.annotation("ProfilerStep#1", END // 2, END // 2)
    trace.add("synchronization", slice_id=90_000, kind="context", ts=0, dur=0)
    work = defaultdict(list)
    for device, items in enumerate(devices):
        call_at = -300
        free = {1: 0, 2: 0}
        for kind, stream, later, dur, early, waits_for in items:
            ts = free[stream] + later
            free[stream] = ts + dur
            if waits_for:
                call_at = wait(trace, device, stream, waits_for, call_at)
            call_at += 2
            issued = max(ts - early, call_at + 1)
            launched = (call_at, issued - call_at)
            slice_id = launch(trace, kind, ts, dur, launched, device, stream)
            work[device].append(Work(slice_id, kind, stream, ts, ts + dur, issued))
    return trace, work


def launch(trace, kind, ts, dur, launched, device, stream):
    # every call on a thread of its own: they would not nest
    thread = trace._slices
    where = {"device": device, "stream": stream, "thread": thread}
    if kind == "copy":
        return trace.memcpy("d2h", ts, dur, launched, **where)
    return trace.gpu("graph" if kind == "graph" else "kernel", NAMES[kind], ts, dur, launched, **where)


def wait(trace, device, stream, waits_for, at):
    number = 100_000 + trace._slices
    trace.call("cudaEventRecord", at + 2, 1, correlation=number)
    trace.add(
        "synchronization",
        slice_id=number,
        kind="stream_wait_event",
        device=device,
        stream=stream,
        ts=at + 4,
        dur=1,
        wait_on_stream=waits_for,
        wait_on_correlation_id=number,
    )
    return at + 4


def sweep_instants(work, edges):
    """Return slice -> (overlapped, exposed, blocking), an instant at a time."""
    found = {}
    for items in work.values():
        for one in items:
            if one.kind != "communication":
                continue
            exposed = [t for t in range(one.ts, one.end) if not any(_is_computing(k, t) for k in items)]
            waiting = [kernel for kernel in items if _is_compute(kernel) and _is_waiting(kernel, one, items, edges)]
            blocking = sum(any(_is_ready(kernel, one, items, t) for kernel in waiting) for t in exposed)
            found[one.slice_id] = (one.end - one.ts - len(exposed), len(exposed), blocking)
    return found


def _is_compute(work):
    return work.kind in ("compute", "graph")


def _is_computing(work, instant):
    return _is_compute(work) and work.ts <= instant < work.end


def _list_earlier(work, items):
    return [k for k in items if k.stream == work.stream and (k.ts, k.slice_id) < (work.ts, work.slice_id)]


def _is_waiting(kernel, one, items, edges):
    is_next = max(_list_earlier(kernel, items), key=lambda k: (k.ts, k.slice_id), default=None) == one
    behind = {k.slice_id for k in items if k.stream == one.stream and one not in [k, *_list_earlier(k, items)]}
    return is_next or any(
        after == kernel.slice_id
        and awaited not in behind
        and awaited in {k.slice_id for k in items if k.stream == one.stream}
        for awaited, after in edges
    )


def _is_ready(kernel, one, items, instant):
    return kernel.issued <= instant and all(k.end <= instant for k in _list_earlier(kernel, items) if k is not one)


@a_hundred
@given(devices=worlds(DEVICE))
@example(devices=[[("communication", 1, 0, 10, 5, 0), ("compute", 1, 0, 5, 20, 0)]])
def test_overlapped_exposed_and_blocking_time(devices):
    trace, work = build_work(devices)
    trace.fill("time_ledger", "collective_slice", "communication_overlap")
    edges = trace.rows("select waited_for_id, next_slice_id from stream_wait where waited_for_id is not null")
    found = {
        slice_id: times
        for slice_id, *times in trace.rows("select slice_id, overlapped, exposed, blocking from collective_slice")
    }
    assert {key: tuple(times) for key, times in found.items()} == sweep_instants(work, edges)
    assert sums_that_differ(trace) == []


def sums_that_differ(trace):
    return trace.rows("""
        select device, step
        from communication_overlap as c
        left join (select device, step, dur from time_ledger where category = 'communication') as l using (device, step)
        left join (select device, step, dur from time_ledger where category = 'compute') as k using (device, step)
        where c.exposed <> coalesce(l.dur, 0) or c.compute <> coalesce(k.dur, 0)
            or c.communication <> c.overlapped + c.exposed
    """)
