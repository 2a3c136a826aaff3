"""Each collective: what ran beside it, what waited for it, how fast it was."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

ANALYSES = ("time_ledger", "collective_slice", "communication_overlap")

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
ASKED = "select overlapped, exposed, blocking from collective_slice order by slice_id"
COMPUTE, NCCL = 7, 20


def wait(trace, ts, stream, recorded, recorded_on):
    """`stream` is told at `ts` to wait for an event that was recorded at `recorded`."""
    number = 1000 + ts
    trace.call("cudaEventRecord", recorded, 1, correlation=number)
    trace.call("cudaStreamWaitEvent", ts, 1, correlation=number + 1)
    trace.add(
        "synchronization",
        slice_id=10_000 + ts,
        kind="stream_wait_event",
        device=0,
        stream=stream,
        ts=ts,
        dur=1,
        correlation_id=number + 1,
        wait_on_stream=recorded_on,
        wait_on_correlation_id=number,
    )


def two_streams(*, edge, **kernel):
    """Compute to 100, a collective from 50 to 300, the next compute launched at 60 and running from 300."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 400)
    trace.kernel("forward", 20, 80, launched=(0, 5), stream=COMPUTE)
    trace.kernel(ALL_REDUCE, 50, 250, launched=(10, 5), stream=NCCL, **kernel)
    if edge:
        wait(trace, 40, COMPUTE, 30, NCCL)
    else:
        trace.add("synchronization", slice_id=10_000, kind="stream", device=0, stream=COMPUTE, ts=390, dur=5)
    trace.kernel("optimizer", 300, 100, launched=(60, 10), stream=COMPUTE)
    return trace


@pytest.mark.parametrize(("edge", "blocking"), [(True, 200), (False, 0)])
def test_the_same_geometry_blocks_only_with_an_edge(edge, blocking):
    trace = two_streams(edge=edge).fill(*ANALYSES)
    assert trace.rows(ASKED) == [(50, 200, blocking)]
    assert trace.rows(
        "select communication, compute, overlapped, exposed, overlap_share from communication_overlap"
    ) == [(250, 180, 50, 200, 0.2)]
    assert trace.rows("select dur from time_ledger where category = 'communication'") == [(200,)]


def test_nobody_knows_without_synchronization_records_or_inside_a_graph():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 400)
    trace.kernel(ALL_REDUCE, 50, 50, launched=(10, 5), stream=NCCL)
    trace.kernel("optimizer", 100, 100, launched=(60, 10), stream=COMPUTE)
    # what never is exposed never blocks
    trace.kernel(ALL_REDUCE, 120, 50, launched=(61, 5), stream=NCCL)
    # the next on its own stream waits, and yet others may have
    trace.kernel(ALL_REDUCE, 220, 50, launched=(62, 5), stream=NCCL)
    trace.kernel("update", 280, 20, launched=(70, 5), stream=NCCL)
    assert trace.fill(*ANALYSES).rows(ASKED) == [(0, 50, None), (50, 0, 0), (0, 50, None)]


@pytest.mark.parametrize("in_graph", [{"graph_id": 5, "graph_node_id": 1}, {"correlation_id": 77}])
def test_nobody_knows_inside_a_graph(in_graph):
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 400)
    trace.call("cudaGraphLaunch", 0, 10, correlation=77)
    trace.kernel(ALL_REDUCE, 50, 50, **{"correlation_id": 77, **in_graph})
    trace.kernel("optimizer", 100, 100, correlation_id=77)
    assert trace.fill(*ANALYSES).rows(ASKED) == [(0, 50, None)]


def test_on_one_stream_the_next_kernel_waits_from_its_launch_on():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel(ALL_REDUCE, 100, 100, launched=(10, 5))
    trace.kernel("queued", 200, 50, launched=(20, 5))
    trace.kernel(ALL_REDUCE, 300, 100, launched=(30, 5))
    trace.kernel("late", 410, 50, launched=(360, 10))
    trace.kernel(ALL_REDUCE, 500, 100, launched=(480, 5))
    trace.kernel("too late", 650, 50, launched=(620, 10))
    trace.kernel(ALL_REDUCE, 700, 100, launched=(630, 10))
    trace.memcpy("d2h", 800, 20, launched=(640, 10))
    trace.kernel("behind a copy", 820, 20, launched=(660, 10))
    trace.kernel(ALL_REDUCE, 850, 50, launched=(670, 10))
    assert trace.fill(*ANALYSES).rows("select blocking from collective_slice order by slice_id") == [
        (100,),
        (30,),
        (0,),
        (0,),
        (0,),
    ]


def test_gpu_work_whose_launch_is_not_there():
    trace = TraceBuilder()
    trace.kernel(ALL_REDUCE, 100, 100)
    trace.kernel("next", 200, 50)
    trace.kernel(ALL_REDUCE, 300, 0)
    assert trace.fill(*ANALYSES).text(
        "select dur, bytes, group_size, overlapped, exposed, blocking, algorithm_bandwidth, bus_bandwidth"
        " from collective_slice order by slice_id"
    ) == ("100 - - 0 100 - - -\n0 - - 0 0 0 - -")


def test_waiting_for_one_is_waiting_for_all_before_it_and_busy_streams_wait_for_themselves():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 1000)
    trace.kernel("busy", 20, 130, launched=(0, 5), stream=COMPUTE)
    trace.kernel(ALL_REDUCE, 100, 100, launched=(10, 2), stream=NCCL)
    trace.kernel(ALL_REDUCE, 200, 100, launched=(15, 2), stream=NCCL)
    wait(trace, 30, COMPUTE, 20, NCCL)
    trace.kernel("next", 300, 100, launched=(40, 5), stream=COMPUTE)
    # meanwhile something else, which is no business of the waiting kernel
    trace.kernel("beside", 220, 30, launched=(50, 5), stream=30)
    assert trace.fill(*ANALYSES).rows(ASKED) == [(50, 50, 50), (30, 70, 70)]


BANDWIDTHS = """
    allreduce 8 | all_reduce 1000.0 1750.0
    _allgather_base 8 | all_gather 1000.0 875.0
    _reduce_scatter_base 4 | reduce_scatter 1000.0 750.0
    all_to_allv 2 | all_to_all 1000.0 500.0
    broadcast 8 | broadcast 1000.0 1000.0
    reduce 8 | reduce 1000.0 1000.0
    send 2 | send 1000.0 1000.0
    gather 4 | gather 1000.0 750.0
    scatter 4 | scatter 1000.0 750.0
    allreduce - | all_reduce 1000.0 -
    barrier 8 | barrier 1000.0 -
    something 8 | unknown 1000.0 -
    allreduce 1 | all_reduce 1000.0 0.0
"""


def test_bandwidths_are_those_of_nccl_tests():
    trace = TraceBuilder()
    expected = []
    for number, line in enumerate(BANDWIDTHS.strip().splitlines()):
        (op, size, *_), answer = (part.split() for part in line.split(" | "))
        expected.append(" ".join(answer))
        kernel = trace.kernel("transport", 1000 * number, 4)
        trace.add("collective", slice_id=kernel, op=op, bytes=4000, group_size=None if size == "-" else int(size))
    trace.fill(*ANALYSES)
    found = trace.text("select op, algorithm_bandwidth, bus_bandwidth from collective_slice order by slice_id")
    assert found.splitlines() == expected


def test_cost_per_operation_group_and_size_class():
    trace = TraceBuilder()
    for number, (op, size, group, dur) in enumerate(
        [
            ("allreduce", 1023, "dp", 10),
            ("allreduce", 1024, "dp", 10),
            ("allreduce", 4095, "dp", 30),
            ("allreduce", 4096, "dp", 10),
            ("allreduce", 4095, "tp", 10),
            ("allreduce", 0, "tp", 10),
            ("allreduce", None, "tp", 10),
        ]
    ):
        kernel = trace.kernel("transport", 100 * number, dur)
        trace.add("collective", slice_id=kernel, op=op, bytes=size, group_name=group, group_size=2)
    assert trace.fill(*ANALYSES).text(
        "select op, group_name, size_class, count, bytes, dur, exposed, blocking, bus_bandwidth"
        " from collective_cost order by all"
    ).splitlines() == [
        "all_reduce dp 256 1 1023 10 10 0 102.3",
        "all_reduce dp 1024 2 5119 40 40 0 127.975",
        "all_reduce dp 4096 1 4096 10 10 0 409.6",
        "all_reduce tp 0 1 0 10 10 0 0.0",
        "all_reduce tp 1024 1 4095 10 10 0 409.5",
        "all_reduce tp - 1 - 10 10 0 -",
    ]


def test_the_range_says_what_a_kernel_of_sends_and_receives_is_and_names_say_the_rest():
    trace = TraceBuilder()
    trace.annotation("nccl:all_to_all", 0, 10)
    trace.annotation("ncclGroupEnd", 2, 5)
    trace.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", 20, 10, launched=(3, 1))
    trace.op("nccl:all_to_all", 100, 10)
    trace.annotation("ncclGroupEnd", 102, 5)
    trace.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", 120, 10, launched=(103, 1))
    trace.annotation("ncclSend", 200, 10)
    trace.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", 220, 10, launched=(203, 1))
    trace.op("c10d::allreduce_", 300, 20)
    trace.op("record_param_comms", 301, 10)
    trace.kernel("ncclDevKernel_Generic_1(ncclDevComm*)", 320, 10, launched=(303, 1))
    trace.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", 420, 10)
    assert trace.fill(*ANALYSES).text("select library, op from collective_slice order by slice_id").splitlines() == [
        "NCCL all_to_all",
        "NCCL all_to_all",
        "NCCL send",
        "NCCL all_reduce",
        "NCCL send_recv",
    ]


def test_copies_take_size_and_group_from_the_operator_with_their_external_id():
    """Copy engines carry out collectives of symmetric memory, and the copies say nothing of them (Megatron-LM#5859)."""
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 400)
    for number, copies in enumerate((1, 3)):
        ts = 100 * number
        trace.annotation("nccl:_all_gather_base", ts, 20)
        described = trace.op("record_param_comms", ts + 1, 18, external_id=7 + number)
        trace.add(
            "collective", slice_id=described, op="_allgather_base", bytes=4096, group_name="0", group_size=copies + 1
        )
        for copy in range(copies):
            start = ts + 30 + 10 * copy
            trace.memcpy("p2p", start, 10, launched=(ts + 2 + copy, 1), stream=NCCL, external_id=7 + number)
    assert trace.fill(*ANALYSES).text(
        "select op, algorithm, group_name, group_size, bytes from collective_slice order by slice_id"
    ) == "all_gather copy_engine 0 2 4096\n" + "\n".join(["all_gather copy_engine 0 4 -"] * 3)
