"""copy_overlap on tiny traces: how copies were asked for, where, and what is not known."""

from __future__ import annotations

from itertools import count

import pytest
from builder import TraceBuilder

ANALYSES = ("launch_state", "copy_overlap", "copy_unified_memory")

correlations = count(1000)


def copy(trace, kind, ts, dur, call=None, api="cudaMemcpyAsync", **columns):
    """A copy; `call` is (ts, dur) of the API that asked for it."""
    if call is not None:
        thread = columns.pop("thread", 0)
        columns["correlation_id"] = next(correlations)
        trace.call(api, *call, columns["correlation_id"], thread)
    return trace.memcpy(kind, ts, dur, **columns)


PINNED = {"src_memory": "pinned", "dst_memory": "device"}
PAGEABLE = {"src_memory": "pageable", "dst_memory": "device"}


def test_a_copy_beside_compute_alone_and_hidden():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 100)
    trace.kernel("gemm", 0, 20)
    copy(trace, "h2d", 10, 30, stream=8)
    trace.kernel("ncclDevKernel_AllReduce", 30, 5, stream=9)
    trace.kernel("gemm", 50, 7)
    copy(trace, "d2h", 35, 10, stream=10)
    trace.fill(*ANALYSES)
    query = "select category, dur, overlapped, hidden, exposed, could_overlap from copy_overlap order by all"
    assert trace.text(query) == "copy_d2h 10 0 5 5 5\ncopy_h2d 30 10 5 15 2"
    query = "select category, copies, busy, overlapped, hidden, exposed, could_overlap from copy_total order by all"
    assert trace.text(query) == "copy_d2h 1 10 0 5 5 5\ncopy_h2d 1 30 10 5 15 2"
    assert trace.rows("select overlap_share from copy_total where category = 'copy_h2d'") == [(10 / 30,)]
    query = "select category, dur from time_ledger where starts_with(category, 'copy') order by all"
    assert trace.text(query) == "copy_d2h 5\ncopy_h2d 15"


def test_a_copy_counts_in_the_step_of_its_launch_and_its_time_where_it_elapses():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 50)
    trace.annotation("ProfilerStep#1", 50, 50)
    copy(trace, "h2d", 40, 30, (10, 5), bytes=64, **PINNED)
    trace.fill(*ANALYSES)
    query = "select step, copies, bytes, dur, busy, exposed from copy_total order by step"
    assert trace.text(query) == "0 1 64 30 10 10\n1 0 0 0 20 20"


def test_whether_the_host_was_held():
    trace = TraceBuilder()
    cases = [
        # each copy at 20..30; is_pageable, is_async_call, is_blocking
        ("cudaMemcpyAsync", "h2d", PINNED, (10, 5), "False True False"),
        ("cudaMemcpyAsync", "h2d", PINNED, (10, 20), "False True True"),
        ("cudaMemcpyAsync", "h2d", PAGEABLE, (10, 5), "True True True"),
        ("cudaMemcpy", "h2d", PAGEABLE, (10, 5), "True False True"),
        ("cudaMemcpy", "d2h", {"src_memory": "device", "dst_memory": "pinned"}, (10, 25), "False False True"),
        ("cudaMemcpy", "d2d", {"src_memory": "device", "dst_memory": "device"}, (10, 5), "False False False"),
        ("hipMemcpyWithStream", "h2d", {"dst_memory": "device"}, (10, 25), "- False True"),
        ("cudaMemcpyAsync", "h2d", {"dst_memory": "device"}, (10, 5), "- True False"),
        ("cudaGraphLaunch", "h2d", PINNED, (10, 5), "False - False"),
        ("not in the trace", "h2d", PAGEABLE, None, "True - -"),
        ("not in the trace", "um", {}, None, "- - -"),
    ]
    for number, (api, kind, memories, call, _) in enumerate(cases):
        ts = 100 * number
        copy(trace, kind, ts + 20, 10, call and (ts + call[0], call[1]), api, **memories)
    trace.fill(*ANALYSES)
    query = "select is_pageable, is_async_call, is_blocking from copy_overlap order by slice_id"
    assert trace.text(query).splitlines() == [expected for *_, expected in cases]


def test_what_is_unknown_is_null():
    trace = TraceBuilder()
    copy(trace, "h2d", 0, 10)
    trace.fill(*ANALYSES)
    columns = "bytes, size_class, bandwidth, best_bandwidth, is_pageable, is_async_call, is_blocking"
    assert trace.text(f"select {columns}, host_dur, batch, position, returns_slice_id from copy_overlap") == (
        "- - - - - - - - - - -"
    )
    assert trace.text("select copies, bytes, dur, exposed from copy_total") == "1 - 10 10"


def test_a_copy_without_duration_has_no_bandwidth():
    trace = TraceBuilder()
    copy(trace, "h2d", 5, 0, bytes=64)
    trace.fill(*ANALYSES)
    columns = "bandwidth, best_bandwidth, overlapped, hidden, exposed, could_overlap"
    assert trace.text(f"select {columns} from copy_overlap") == "- - 0 0 0 0"


def test_the_best_bandwidth_is_that_of_like_copies():
    trace = TraceBuilder()
    copy(trace, "h2d", 0, 10, bytes=100, **PINNED)
    copy(trace, "h2d", 20, 10, bytes=300, **PINNED)
    copy(trace, "h2d", 40, 10, bytes=200, **PAGEABLE)
    copy(trace, "h2d", 60, 10, bytes=100_000, **PINNED)
    copy(trace, "d2h", 80, 10, bytes=900, src_memory="device", dst_memory="pinned")
    trace.fill(*ANALYSES)
    query = "select bandwidth, best_bandwidth, size_class from copy_overlap order by slice_id"
    assert trace.text(query) == (
        "10.0 30.0 below 4 KiB\n30.0 30.0 below 4 KiB\n20.0 20.0 below 4 KiB\n"
        "10000.0 10000.0 below 1 MiB\n90.0 90.0 below 4 KiB"
    )
    query = "select category, size_class, copies, bytes, dur, bandwidth from copy_size order by all"
    assert trace.text(query) == (
        "copy_d2h below 4 KiB 1 900 10 90.0\ncopy_h2d below 1 MiB 1 100000 10 10000.0\ncopy_h2d below 4 KiB 3 600 30 20.0"
    )


def test_the_link_is_that_of_a_known_gpu_to_the_host():
    trace = TraceBuilder()
    trace.add("device", device=0, name="NVIDIA A100-SXM4-80GB", source="trace")
    trace.add("device", device=1, name="NVIDIA X1", source="trace")
    for device, kind in ((0, "h2d"), (0, "d2h"), (0, "d2d"), (1, "h2d")):
        copy(trace, kind, 10, 10, device=device)
    trace.fill(*ANALYSES)
    ((link,),) = trace.rows("select host_link_bandwidth from gpu_model where model = 'A100 SXM 80GB'")
    assert link > 30
    query = "select link_bandwidth from copy_overlap order by slice_id"
    assert trace.rows(query) == [(link,), (link,), (None,), (None,)]


def test_copies_of_one_call_are_a_batch():
    trace = TraceBuilder()
    number = next(correlations)
    trace.call("cudaMemcpyBatchAsync", 0, 7, number)
    for ts in (10, 20):
        trace.memcpy("h2d", ts, 5, correlation_id=number)
    copy(trace, "h2d", 50, 5, (40, 3), args='{"copy_count":16}')
    copy(trace, "h2d", 70, 5, (60, 3), args='{"memory bandwidth (GB/s)":0.5}')
    trace.fill(*ANALYSES)
    assert trace.text("select batch, host_dur from copy_overlap order by slice_id") == "2 7\n2 7\n16 3\n1 3"


def test_ping_pong_within_a_step():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 100)
    trace.annotation("ProfilerStep#1", 100, 100)
    out = copy(trace, "d2h", 10, 10, (5, 2), bytes=64)
    copy(trace, "h2d", 25, 5, (19, 2), bytes=64)  # asked for before the other had ended
    copy(trace, "h2d", 35, 5, (20, 2), bytes=32)
    back = copy(trace, "h2d", 45, 5, (30, 2), bytes=64)
    copy(trace, "h2d", 55, 5, (50, 2), bytes=64)  # nothing is left to bring back
    copy(trace, "d2h", 80, 5, (70, 2), bytes=128)
    copy(trace, "h2d", 120, 5, (110, 2), bytes=128)  # in another step
    trace.fill(*ANALYSES)
    query = "select slice_id, returns_slice_id from copy_overlap where returns_slice_id is not null"
    assert trace.rows(query) == [(back, out)]


def test_positions():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 1000)
    cases = {
        "data": [("annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), ("op", "aten::copy_")],
        "checkpoint": [("annotation", "save_checkpoint"), ("op", "aten::copy_")],
        "item": [("annotation", "forward"), ("op", "aten::item"), ("op", "aten::_local_scalar_dense")],
        "pipeline": [("annotation", "forward"), ("annotation", "send_forward")],
        "forward": [("annotation", "forward"), ("op", "aten::to"), ("op", "aten::copy_")],
        "backward": [("annotation", "loss.backward()"), ("op", "aten::copy_")],
        "optimizer": [("annotation", "Optimizer.step#Adam.step"), ("op", "aten::_to_copy"), ("op", "aten::copy_")],
        "other": [("op", "aten::copy_")],
    }
    expected = []
    for number, (position, around) in enumerate(cases.items()):
        ts = 100 + 100 * number
        for depth, (kind, name) in enumerate(around):
            trace.cpu(kind, name, ts + depth, 80 - 2 * depth)
        slice_id = copy(trace, "d2h", ts + 30, 5, (ts + 20, 4))
        expected.append((slice_id, position))
    trace.fill(*ANALYSES)
    assert trace.rows("select slice_id, position from copy_overlap order by slice_id") == expected


@pytest.mark.parametrize("marked", [True, False])
def test_a_batch_is_copied_before_the_forward_pass_or_the_first_kernel(marked):
    trace = TraceBuilder()
    for step in (0, 1):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        if marked:
            trace.annotation("forward", ts + 200, 200)
        copy(trace, "h2d", ts + 150, 5, (ts + 100, 10))
        copy(trace, "d2h", ts + 160, 5, (ts + 115, 10))
        copy(trace, "h2d", ts + 170, 5, (ts + 130, 10), thread=1)
        trace.kernel("gemm", ts + 260, 20, (ts + 210, 10))
        copy(trace, "h2d", ts + 550, 5, (ts + 500, 10))
    trace.fill(*ANALYSES)
    query = "select position from copy_overlap order by slice_id"
    assert trace.text(query) == "\n".join(["data", "other", "other", "other"] * 2)


def test_copies_of_collectives_are_left_out():
    trace = TraceBuilder()
    trace.annotation("ncclAllReduce", 0, 50)
    copy(trace, "p2p", 60, 10, (5, 2))
    copy(trace, "p2p", 80, 10, (55, 2))
    trace.fill(*ANALYSES)
    assert trace.text("select category, copy_kind, direction from copy_overlap") == "copy_other p2p p2p"


def test_migrations_and_faults_per_step():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 100)
    trace.annotation("ProfilerStep#1", 100, 100)
    for name, ts, dur, size in (("HtoD", 10, 5, 100), ("HtoD", 20, 5, 100), ("DtoH", 120, 8, 64)):
        trace.gpu("memcpy", f"Memcpy {name} (Unified)", ts, dur, copy_kind="um", bytes=size)
    for ts, dur, faults in ((5, 10, 3), (8, 10, 2), (130, 4, 1)):
        trace.add("page_fault", processor="gpu", device=0, ts=ts, dur=dur, faults=faults)
    trace.add("page_fault", processor="cpu", ts=50, faults=1)
    trace.fill(*ANALYSES)
    assert trace.text("select direction, category from copy_overlap order by all") == (
        "d2h copy_other\nh2d copy_other\nh2d copy_other"
    )
    columns = "device, step, migrations_h2d, bytes_h2d, dur_h2d, migrations_d2h, bytes_d2h, dur_d2h"
    assert trace.text(f"select {columns}, gpu_faults, gpu_fault_dur, cpu_faults from unified_memory order by all") == (
        "0 0 2 200 10 0 0 0 5 13 -\n0 1 0 0 0 1 64 8 1 4 -\n- 0 0 0 0 0 0 0 - - 1"
    )


def test_faults_that_were_not_recorded_are_not_none():
    trace = TraceBuilder()
    trace.gpu("memcpy", "Memcpy HtoD (Unified)", 10, 5, copy_kind="um")
    trace.fill(*ANALYSES)
    query = "select migrations_h2d, bytes_h2d, dur_h2d, bytes_d2h, gpu_faults, gpu_fault_dur, cpu_faults from unified_memory"
    assert trace.text(query) == "1 - 5 0 - - -"


def test_a_trace_without_copies_has_no_rows():
    trace = TraceBuilder()
    trace.kernel("gemm", 0, 10)
    trace.fill(*ANALYSES)
    assert (
        trace.rows(
            "select 1 from copy_overlap union all select 1 from copy_total union all from (select 1 from unified_memory)"
        )
        == []
    )
