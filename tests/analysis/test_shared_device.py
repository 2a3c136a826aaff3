"""Two processes on one GPU: the work of one is no gap of the other, and ids that both use are not mixed up."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

GAPS = "select ts, dur, cause, thread_id from idle_gap order by ts"


def two_processes(work_of_the_other):
    """The first process trains, with kernels up to 100 and from 800; what the second one runs is given."""
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=10, tid=10)
    trace.add("thread", thread_id=1, pid=20, tid=20)
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.call("cudaLaunchKernel", 0, 10, correlation=1)
    trace.call("cudaLaunchKernel", 780, 10, correlation=2)
    trace.kernel("train", 20, 80, correlation_id=1, pid=10)
    trace.kernel("train", 800, 200, correlation_id=2, pid=10)
    trace.annotation("next_batch", 100, 600)
    for number, (ts, dur, called) in enumerate(work_of_the_other, 1):
        # the same correlation ids as in the first process, on a stream of the same number
        trace.call("cudaLaunchKernel", called, 5, correlation=number, thread=1)
        trace.kernel("serve", ts, dur, correlation_id=number, pid=20)
    return trace


def test_alone_the_first_process_has_a_gap():
    found = two_processes([]).fill("time_ledger").rows("select ts, dur, cause, thread_id from idle_gap order by ts")
    assert found == [(0, 20, "idle_launch", 0), (100, 700, "idle_data", 0)]


@pytest.mark.parametrize("pieces", [[(100, 700, 90)], [(90, 410, 80), (450, 400, 400)]])
def test_what_another_process_fills_is_no_gap(pieces):
    trace = two_processes(pieces).fill("time_ledger")
    assert trace.rows(GAPS) == [(0, 20, "idle_launch", 0)]
    assert trace.rows("select category, dur from time_ledger where category not like 'idle%'") == [("compute", 980)]


def test_a_gap_belongs_to_the_process_whose_work_ends_it():
    trace = two_processes([(300, 100, 290)]).fill("time_ledger")
    assert trace.rows("select g.ts, g.dur, g.thread_id from idle_gap as g order by ts") == [
        (0, 20, 0),
        (100, 200, 1),
        (400, 400, 0),
    ]
    owner = """
        select g.pid, t.pid from gpu_slice as g
        join cpu_slice as c on c.slice_id = g.launch_id join thread as t using (thread_id)
    """
    assert set(trace.rows(owner)) == {(10, 10), (20, 20)}


def test_kernels_that_overlap_on_one_stream_are_all_counted():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    for number in range(4):
        trace.kernel(f"dependent {number}", 100 + 50 * number, 100, launched=(10 * number, 5))
    trace.fill("time_ledger")
    assert trace.text("select ts, dur, compute from device_activity where compute > 0 order by ts").splitlines() == [
        "100 50 1",
        "150 50 2",
        "200 50 2",
        "250 50 2",
        "300 50 1",
    ]
    assert trace.rows("select dur from time_ledger where category = 'compute'") == [(250,)]
    assert trace.rows("select count(*), sum(dur) from launch") == [(4, 400)]


@pytest.mark.parametrize("kind", ["memset", "graph"])
def test_other_work_inside_a_range_of_a_communication_library_is_no_communication(kind):
    trace = TraceBuilder()
    trace.annotation("nccl:all_reduce", 0, 100)
    trace.gpu(kind, "other", 20, 30, launched=(10, 5))
    trace.kernel("reduce", 60, 30, launched=(20, 5))
    trace.fill("time_ledger")
    assert trace.rows("select name, is_communication from gpu_slice order by ts") == [
        ("other", False),
        ("reduce", True),
    ]
