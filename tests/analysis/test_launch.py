"""GPU work joined with the call that launched it; what counts as communication."""

from __future__ import annotations

from builder import TraceBuilder


def test_a_kernel_finds_its_call_and_the_operator_and_annotation_around_it():
    trace = TraceBuilder()
    trace.annotation("forward", 0, 100)
    trace.op("aten::mm", 10, 20)
    trace.kernel("gemm", 50, 10, launched=(12, 5))
    assert (
        trace.fill("launch_state").text(
            "select name, api_name, operator, annotation, queue_delay, launch_latency from launch"
        )
        == "gemm cudaLaunchKernel aten::mm forward 33 38"
    )


def test_correlation_ids_are_per_process():
    trace = TraceBuilder()
    trace.add("thread", thread_id=0, pid=10, tid=1)
    trace.add("thread", thread_id=1, pid=20, tid=1)
    first = trace.call("cudaLaunchKernel", 0, 5, correlation=1, thread=0)
    second = trace.call("cudaLaunchKernel", 0, 5, correlation=1, thread=1)
    trace.kernel("a", 10, 5, correlation_id=1, pid=20)
    trace.kernel("b", 10, 5, correlation_id=1, pid=10)
    trace.kernel("cannot tell", 10, 5, correlation_id=1)
    rows = trace.fill("launch_state", "notes").rows("select name, launch_id from gpu_slice order by name")
    assert rows == [("a", second), ("b", first), ("cannot tell", None)]
    assert trace.text("select count from import_note where code = 'launch_not_traced'") == "1"


def merged_ranks(shift):
    """Two processes that use the same ids, each for kernels on its own GPU; calls of the second one come `shift` ns later."""
    trace = TraceBuilder()
    for thread, pid in enumerate((10, 20)):
        trace.add("thread", thread_id=thread, pid=pid, tid=1)
        for number in range(1, 4):
            ts = 1000 * number + thread * shift
            trace.call("cudaGraphLaunch", ts, 5, correlation=number, thread=thread)
            for part in range(3):
                trace.kernel("k", ts + 20 + 10 * part, 10, correlation_id=number, device=thread)
    return trace.fill("launch_state", "notes")


def test_ids_that_merged_ranks_share_are_told_apart_by_time():
    trace = merged_ranks(shift=500)
    assert (
        trace.text(
            "select k.device, t.pid, count(*), min(k.ts - c.ts), max(k.ts - c.ts) from kernel as k"
            " inner join cpu_slice as c on c.slice_id = k.launch_id inner join thread as t using (thread_id)"
            " group by all order by all"
        )
        == "0 10 9 20 40\n1 20 9 20 40"
    )
    assert trace.rows("select code from import_note where code = 'launch_not_traced'") == []


def test_ids_that_merged_ranks_share_at_about_the_same_time_cannot_be_told_apart():
    trace = merged_ranks(shift=2)
    assert trace.rows("select distinct launch_id from kernel") == [(None,)]
    ((count, text),) = trace.rows("select count, text from import_note where code = 'launch_not_traced'")
    assert (count, "18 of them have ids that calls of several processes have" in text) == (18, True)


def test_what_starts_before_the_first_launching_call_was_launched_before_the_capture():
    trace = TraceBuilder()
    trace.kernel("before", 0, 1_500_000)
    trace.kernel("gemm", 2_000_000, 10, launched=(1_000_000, 5))
    trace.kernel("cannot tell", 3_000_000, 10)
    (text,) = trace.fill("launch_state", "notes").rows("select text from import_note where code = 'launch_not_traced'")[
        0
    ]
    assert text.endswith(
        "; 1 of them, of 1.5 ms, start before the first launching call in the trace: they were"
        " launched before the capture"
    )


def test_one_graph_launch_launches_many_kernels_and_the_outer_call_counts():
    trace = TraceBuilder()
    outer = trace.call("cudaGraphLaunch", 0, 20, correlation=5)
    trace.call("cuGraphLaunch", 2, 10, correlation=5)
    for ts in (30, 40, 50):
        trace.kernel("k", ts, 5, correlation_id=5)
    assert trace.fill("launch_state").rows("select launch_id from kernel") == [(outer,)] * 3


NAMES = {
    "ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)": True,
    "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)": True,
    "void deep_ep::internode::dispatch<true>()": True,
    "void dpsk::ep::intranode::combine()": True,
    "void vllm::cross_device_reduce_2stage<half, 8>()": True,
    "two_shot_all_reduce_kernel": True,
    "nvshmemi_transfer_rma": True,
    "void at::native::reduce_kernel<512, 1>()": False,
    "void at::native::vectorized_scatter_gather_kernel()": False,
    "ampere_fp16_s16816gemm_fp16_64x64": False,
    "void userbuffers_fp16_sum_inplace_gpu_rr_rs<8>()": True,
    "kuserbuffers_pushrecv": True,
    "void mscclpp::allreduce()": True,
    "void sglang::oneShotAllReduce<half>()": True,
    "rcclGenericKernel_1(ncclDevComm*)": True,
    "triton_poi_fused_all_reduce_lift_fresh_0": False,
    "small_reduce_kernel": False,
    "SmallGatherKernel": False,
    "asyncClusterLaunch": False,
    "FuncClosure": False,
    "SrcClampKernel": False,
    "void blockAllReduceSum<float>()": False,
    "warpAllReduceSoftmax": False,
}


def test_communication_by_name():
    trace = TraceBuilder()
    for number, name in enumerate(NAMES):
        trace.kernel(name, 10 * number, 10)
    assert dict(trace.fill().rows("select name, is_communication from kernel")) == NAMES


def test_communication_by_the_sources_own_word():
    trace = TraceBuilder()
    described = trace.kernel("my_transport", 0, 10)
    trace.kernel("my_transport", 20, 10)
    trace.add("collective", slice_id=described, op="allreduce")
    assert trace.fill("launch_state").rows("select is_communication from kernel order by ts") == [(True,), (False,)]


def test_communication_by_the_range_it_was_launched_in():
    trace = TraceBuilder()
    trace.annotation("nccl:all_reduce", 0, 10)
    trace.kernel("triton_fused_0", 20, 10, launched=(2, 3))
    trace.memcpy("p2p", 30, 10, launched=(5, 1))
    trace.memcpy("d2d", 40, 10, launched=(6, 1))
    trace.op("record_param_comms", 50, 10)
    trace.kernel("mystery", 70, 10, launched=(52, 3))
    trace.kernel("triton_fused_1", 90, 10, launched=(80, 3))
    trace.memcpy("p2p", 100, 10, launched=(85, 1))
    assert trace.fill("launch_state").text("select name, is_communication from gpu_slice order by ts") == (
        "triton_fused_0 True\nMemcpy p2p True\nMemcpy d2d False\nmystery True\ntriton_fused_1 False\nMemcpy p2p False"
    )


# ---- what cannot be right


def add_note(trace, code):
    return trace.fill("launch_state", "notes").rows(f"select count, text from import_note where code = '{code}'")


def test_a_slice_that_starts_before_its_launch_shows_that_clocks_differ():
    trace = TraceBuilder()
    trace.kernel("a", 10, 5, launched=(0, 5))
    trace.kernel("b", 20, 5, launched=(2_000_020, 5))
    ((count, text),) = add_note(trace, "starts_before_launch")
    assert count == 1
    assert "by up to 2.0 ms" in text


def test_kernels_that_the_profiler_lost_at_the_start():
    trace = TraceBuilder()
    trace.call("cudaLaunchKernel", 0, 5, correlation=101)
    trace.call("cudaLaunchKernel", 10, 5, correlation=102)
    trace.kernel("gemm", 50, 10, launched=(20, 5))
    trace.call("cudaLaunchKernel", 30, 5, correlation=109)
    assert [count for count, _ in add_note(trace, "first_work_missing")] == [2]


def test_what_is_captured_into_a_graph_is_not_lost():
    trace = TraceBuilder()
    trace.call("cudaStreamBeginCapture", 0, 1, correlation=7)
    trace.call("cudaLaunchKernel", 2, 5, correlation=101)
    trace.kernel("gemm", 50, 10, launched=(20, 5))
    assert add_note(trace, "first_work_missing") == []
