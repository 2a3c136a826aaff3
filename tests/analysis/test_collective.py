"""What a source says on the host of a collective, and the GPU slice it belongs to."""

from __future__ import annotations

import json

from builder import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevComm*)"
DESCRIBED = """
    select coalesce(g.name, s.name), c.op, c.bytes, c.group_name, c.group_size
    from collective as c
    left join gpu_slice as g using (slice_id)
    left join cpu_slice as s using (slice_id)
    order by coalesce(g.ts, s.ts), c.op
"""


def add_nccl_range(trace, name, ts, size, group="0x1"):
    """Add a range of NCCL with its payload."""
    slice_id = trace.annotation(name, ts, 4)
    trace.add("collective", slice_id=slice_id, op=name, bytes=size, group_name=group, group_size=4)


def test_nccls_own_ranges_describe_the_kernel_they_launch():
    trace = TraceBuilder()
    # a capture that begins inside a group
    trace.annotation("ncclGroupEnd", 0, 5)
    add_nccl_range(trace, "ncclAllReduce", 10, 100)
    trace.kernel("alone", 1000, 10, launched=(11, 1))
    trace.annotation("ncclGroupStart", 20, 2)
    for ts, name, size in [(22, "ncclSend", 64), (26, "ncclRecv", 100), (30, "ncclSend", 8)]:
        add_nccl_range(trace, name, ts, size)
    trace.annotation("ncclGroupEnd", 35, 10)
    trace.kernel("a group of transfers", 1020, 10, launched=(36, 1))
    trace.annotation("ncclGroupStart", 50, 2)
    trace.annotation("ncclGroupStart", 52, 2)
    add_nccl_range(trace, "ncclAllReduce", 55, 100)
    trace.annotation("ncclGroupEnd", 60, 2)
    add_nccl_range(trace, "ncclAllReduce", 65, 200)
    trace.annotation("ncclGroupEnd", 70, 10)
    trace.kernel("a nested group", 1040, 10, launched=(71, 1))
    trace.annotation("ncclGroupStart", 80, 2)
    add_nccl_range(trace, "ncclAllReduce", 82, 100)
    add_nccl_range(trace, "ncclAllGather", 86, 200, group="0x2")
    trace.annotation("ncclGroupEnd", 90, 5)
    trace.kernel("this and that", 1060, 10, launched=(91, 1))
    add_nccl_range(trace, "ncclBroadcast", 100, 300)
    trace.kernel("first half", 1080, 10, launched=(101, 1))
    trace.kernel("second half", 1090, 10, launched=(102, 1))
    add_nccl_range(trace, "ncclReduce", 110, None)
    assert trace.fill("collective_slice").text(DESCRIBED).splitlines() == [
        "ncclBroadcast ncclBroadcast 300 0x1 4",
        "ncclReduce ncclReduce - 0x1 4",
        "alone ncclAllReduce 100 0x1 4",
        "a group of transfers ncclSendRecv 100 0x1 4",
        "a nested group ncclAllReduce 300 0x1 4",
        "this and that ncclGroup - - -",
    ]
    assert trace.text("select op, bytes, bus_bandwidth from collective_slice order by slice_id").splitlines() == [
        "all_reduce 100 15.0",
        "send_recv 100 10.0",
        "all_reduce 300 45.0",
        "unknown - -",
        "broadcast - -",
        "broadcast - -",
    ]


def render_arguments(dims, types, inputs=None):
    return json.dumps({"Input Dims": dims, "Input type": types} | ({"Concrete Inputs": inputs} if inputs else {}))


def add_request(trace, ts, operator, annotation, record=None, launches=1):
    """Add c10d operator, record_param_comms and annotation around a launch."""
    (name, arguments_of_it), (title, shapes) = operator, annotation
    if name:
        trace.op(name, ts, 10, args=arguments_of_it)
    trace.op("record_param_comms", ts + 1, 8, args=record)
    trace.annotation(title, ts + 2, 6, args=shapes)
    for number in range(launches):
        trace.kernel(f"nccl {title}", 1000 + ts + 2 * number, 2, launched=(ts + 3 + number, 1))


RECORD = render_arguments(
    [[[4, 8]], [], [], [], [], [], [], []],
    ["TensorList", "Scalar", "Scalar", "Scalar", "", "ScalarList", "ScalarList", "Scalar"],
    ["", "337", "93825", "0", "", "[]", "[]", "8"],
)


def test_recorded_shapes_describe_collectives_that_are_not_described():
    trace = TraceBuilder()
    nothing = (None, None)
    halves = ("c10d::allreduce_", render_arguments([[[4, 8]], []], ["TensorList", ""]))
    add_request(trace, 0, halves, ("nccl:all_reduce", render_arguments([[4, 8]], ["c10::Half"])), RECORD)
    both = ("c10d::_reduce_scatter_base_", render_arguments([[2, 8], [16, 8], []], ["float", "float", ""]))
    add_request(trace, 20, both, ("nccl:_reduce_scatter_base", render_arguments([[16, 8]], ["float"])))
    uneven = ("c10d::alltoall_base_", render_arguments([[28], [31], [], []], ["float", "float", "", ""]))
    add_request(trace, 40, uneven, ("nccl:all_to_all", render_arguments([[31]], ["float"])))
    # one rank's part, and nobody says of how many; then somebody does
    add_request(trace, 60, nothing, ("nccl:_all_gather_base", render_arguments([[10]], ["float"])))
    add_request(trace, 80, nothing, ("nccl:_all_gather_base", render_arguments([[10]], ["float"])), RECORD)
    add_request(trace, 100, nothing, ("nccl:all_reduce", render_arguments([[5], [6], []], ["float", "float", "float"])))
    add_request(trace, 120, nothing, ("nccl:all_reduce", render_arguments([[5], [6]], ["float", "long"])))
    add_request(trace, 140, nothing, ("nccl:all_reduce", render_arguments([[5]], ["c10::Unheard"])))
    add_request(trace, 160, nothing, ("nccl:broadcast", render_arguments([[5]], ["float"])), launches=2)
    add_request(trace, 180, nothing, ("nccl:all_reduce", "no JSON"))
    trace.annotation("gloo:all_reduce", 200, 10, args=render_arguments([[7]], ["float"]))
    assert trace.fill("collective_slice").text(DESCRIBED).splitlines() == [
        "nccl:broadcast nccl:broadcast 20 - -",
        "gloo:all_reduce gloo:all_reduce 28 - -",
        "nccl nccl:all_reduce nccl:all_reduce 64 93825 8",
        "nccl nccl:_reduce_scatter_base nccl:_reduce_scatter_base 512 - -",
        "nccl nccl:all_to_all nccl:all_to_all 124 - -",
        "nccl nccl:_all_gather_base nccl:_all_gather_base - - -",
        "nccl nccl:_all_gather_base nccl:_all_gather_base 320 93825 8",
        "nccl nccl:all_reduce nccl:all_reduce 48 - -",
        "nccl nccl:all_reduce nccl:all_reduce - - -",
        "nccl nccl:all_reduce nccl:all_reduce - - -",
    ]
    assert trace.text(
        "select dtype, in_elements, out_elements, sequence from collective order by slice_id limit 3"
    ) == ("c10::Half 32 32 337\nfloat 128 16 -\nfloat 31 28 -")


def test_a_kernel_that_sends_and_receives_keeps_its_peers():
    trace = TraceBuilder()
    for start, peers in ((0, (3, 1, 3)), (100, (2, None, 2))):
        trace.annotation("ncclGroupStart", start, 2)
        for place, (name, peer) in enumerate(zip(("ncclSend", "ncclRecv", "ncclSend"), peers, strict=True)):
            slice_id = trace.annotation(name, start + 3 + 5 * place, 4)
            args = json.dumps({"message_bytes": 8} | ({} if peer is None else {"peer_rank": peer}))
            trace.add("collective", slice_id=slice_id, op=name, bytes=8, group_name="0x1", group_size=4, args=args)
        trace.annotation("ncclGroupEnd", start + 30, 10)
        trace.kernel(SEND_RECV, 1000 + start, 10, launched=(start + 31, 1))
    assert trace.fill("collective_slice").text("select args from collective order by slice_id").splitlines() == [
        '{"parts":3,"sends_to":[3],"receives_from":[1]}',
        '{"parts":3}',
    ]


def test_the_sources_own_description_goes_first():
    trace = TraceBuilder()
    add_request(trace, 0, (None, None), ("nccl:all_reduce", render_arguments([[5]], ["float"])))
    kernel = trace._slices - 1
    trace.add("collective", slice_id=kernel, op="allreduce", bytes=7, group_size=2)
    assert trace.fill("collective_slice").text(DESCRIBED) == "nccl nccl:all_reduce allreduce 7 - 2"


def test_shapes_tell_bytes_of_the_hosts_collectives_without_any_on_a_gpu():
    trace = TraceBuilder()
    trace.annotation("gloo:all_reduce", 0, 10, args=render_arguments([[100]], ["float"]))
    assert trace.fill("collective_slice").text("select op, bytes from host_collective") == "all_reduce 400"
