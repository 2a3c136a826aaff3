"""What a capture is: the table triage, kind by kind."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

MS = 1_000_000


def change_nothing(_trace):
    pass


def add_operators(trace):
    trace.op("aten::add", 0, 10)


def launches_alone(trace):
    for number in range(3):
        trace.call("cudaLaunchKernel", 100 * number, 10, number + 1)


def operators_of_gpus(trace):
    trace.op("aten::cudnn_convolution", 0, 10)


def not_collected(trace):
    trace.annotation("main", 0, 100)
    trace.add(
        "import_note", severity="error", code="gpu_not_collected", count=1, text="nsys: No CUDA events collected."
    )


def of_another_device(trace):
    trace.op("aten::add", 0, 10)
    trace.add("import_note", severity="info", code="npu_not_measured", count=3, text="")


def set_up(trace):
    trace.call("cudaMalloc", 0, 200 * MS)
    trace.gpu("memset", "Memset", 201 * MS, 10, launched=(200 * MS, 10))


def memsets_in_turns(trace):
    trace.call("cudaMalloc", 0, 200 * MS)
    for number in range(40):
        start = 200 * MS + MS * number
        trace.gpu("memset", "Memset", start + 100, 10, launched=(start, 10))
        trace.memcpy("h2d", start + 1_100, 20, launched=(start + 1_000, 10))


def recording_a_graph(trace):
    trace.call("cudaStreamBeginCapture", 0, 10)
    for number in range(20):
        trace.call("cudaLaunchKernel", 100 + 100 * number, 10, 100 + number)
    trace.call("cudaStreamEndCapture", 3_000, 10)
    trace.kernel("fill", 4_100, 10, launched=(4_000, 10))


def graphs_that_run(trace):
    """Two hundred launches are recorded, and the graph that holds them runs in each of many steps."""
    trace.call("cudaStreamBeginCapture", 0, 10)
    for number in range(200):
        trace.call("cudaLaunchKernel", 100 + 10 * number, 5, 10_000 + number)
    trace.call("cudaStreamEndCapture", 2_500, 10)
    for number in range(100):
        start = 10_000 + 1_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000)
        for place in range(5):
            trace.kernel(f"kernel {place}", start + 100 + 100 * place, 90, launched=(start + 10 * place, 5))


def functions_of_the_host(trace):
    for number in range(30):
        trace.annotation(f"ProfilerStep#{number}", 1_000 * number, 1_000)
        trace.call("cudaLaunchHostFunc", 1_000 * number + 800, 10, 5_000 + number)
        for place in range(2):
            trace.kernel("kernel", 1_000 * number + 100 * place + 50, 90, launched=(1_000 * number + 100 * place, 5))


def a_queue_of_half_the_capture(trace):
    for number in range(60):
        trace.call("cudaLaunchKernel", 10 * number, 5, number + 1)
    for number in range(20):
        trace.kernel(f"kernel {number}", 1_000 * (number + 1), 1_000, correlation_id=number + 1)


def a_helper_beside(trace):
    for number in range(30):
        trace.annotation(f"ProfilerStep#{number}", 1_000 * number, 1_000)
        for place in range(5):
            trace.kernel("kernel", 1_000 * number + 100 * place + 50, 40, launched=(1_000 * number + 100 * place, 5))
    trace.add("thread", thread_id=9, pid=2, tid=9)
    for number in range(10):
        trace.call("cudaLaunchKernel", 100 * number, 10, 90_000 + number, thread=9)


def frees_that_wait(trace):
    for number in range(20):
        trace.kernel(f"kernel {number}", 10 * MS * number + 1_000, 9 * MS, launched=(10 * MS * number, 100))
        trace.call("cudaFree", 10 * MS * number + 2_000, 9 * MS)


def copies_alone(trace):
    for number in range(50):
        trace.memcpy("h2d", MS * number + 100, 900_000, launched=(MS * number, 50))


def lose_middle_events(trace):
    for number in range(20):
        if number % 2:
            trace.call("cudaLaunchKernel", 100 * number, 10, 1_000 + number)
        else:
            trace.kernel(f"kernel {number}", 100 * number + 20, 10, launched=(100 * number, 10))


def queue_end_events(trace):
    for number in range(20):
        trace.kernel(f"kernel {number}", 10_000 + 1_000 * number, 990, launched=(100 * number, 10))
    for number in range(20, 30):
        trace.call("cudaLaunchKernel", 100 * number, 10, 1_000 + number)


def every_30th_call(trace):
    for number in range(20):
        trace.call("cudaEventRecord", 100 * number, 10, 10_000 + 30 * number)
    trace.kernel("kernel", 3_020, 10, launched=(3_000, 10))


def inside_a_forward(trace):
    trace.annotation("forward", 0, 10_000)
    for number in range(10):
        trace.kernel(f"kernel {number}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


def cut_by_the_end(trace):
    trace.annotation("forward", 5_000, 4_110)
    for number in range(10):
        trace.kernel(f"kernel {number}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


def add_cold_start(trace):
    trace.kernel("first", 60 * MS, 10, launched=(0, 50 * MS))
    trace.kernel("second", 70 * MS, 10, launched=(69 * MS, 10))


def whole_run(trace):
    trace.call("cuInit", 0, 10)
    for number in range(5):
        trace.kernel(f"kernel {number}", MS * (number + 1) + 100, 10_000, launched=(MS * (number + 1), 10))


def smoke_test(trace):
    trace.call("cuInit", 0, 10)
    for number in range(5):
        trace.kernel(f"kernel {number}", 100 * MS + 1_000 * number + 100, 10, launched=(100 * MS + 1_000 * number, 10))


def one_step(trace):
    trace.annotation("ProfilerStep#7", 0, 10_000)
    for number in range(10):
        trace.kernel(f"kernel {number}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


def a_loop(trace):
    for number in range(24):
        trace.kernel(f"kernel {number % 3}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


def add_work(trace):
    for number in range(20):
        trace.kernel(f"kernel {number}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


@pytest.mark.parametrize(
    ("add", "kind"),
    [
        (change_nothing, "nothing_recorded empty"),
        (add_operators, "host_only by_design"),
        (launches_alone, "host_only rows_missing"),
        (operators_of_gpus, "host_only rows_missing"),
        (not_collected, "host_only not_collected"),
        (of_another_device, "host_only other_device"),
        (set_up, "start_up_only stopped"),
        (recording_a_graph, "fragment graph_capture"),
        (graphs_that_run, "steps marked"),
        (functions_of_the_host, "steps marked"),
        (a_queue_of_half_the_capture, "window unmarked"),
        (a_helper_beside, "steps marked"),
        (frees_that_wait, "window unmarked"),
        (copies_alone, "window unmarked"),
        (lose_middle_events, "fragment lost"),
        (queue_end_events, "window unmarked"),
        (every_30th_call, "fragment sampled"),
        (inside_a_forward, "steps marked"),
        (cut_by_the_end, "fragment no_unit"),
        (add_cold_start, "one_off cold"),
        (whole_run, "one_off whole_run"),
        (smoke_test, "start_up_only trivial"),
        (memsets_in_turns, "start_up_only stopped"),
        (one_step, "steps marked"),
        (a_loop, "steps recurrence"),
        (add_work, "window unmarked"),
    ],
    ids=lambda each: each.__name__ if callable(each) else None,
)
def test_what_a_capture_is(add, kind):
    trace = TraceBuilder()
    add(trace)
    assert trace.fill("triage").text("select kind, reason from triage") == kind


def kind_without_gpu_work(*, calls=(), operators=(), ranges=(), has_gpu=True):
    trace = TraceBuilder()
    if has_gpu:
        trace.add("device", device=0, source="trace")
    for number, name in enumerate(calls):
        trace.call(name, 100 * number, 10)
    for name in operators:
        trace.op(name, 50, 10)
    for name in ranges:
        trace.annotation(name, 70, 10)
    return trace.fill("triage").text("select kind, reason from triage")


def test_a_few_calls_of_the_profiler_are_no_program():
    its_own = ("cudaGetDeviceCount", "cudaGetDeviceProperties", "cudaDeviceSynchronize")
    assert kind_without_gpu_work(calls=its_own) == "nothing_recorded empty"
    assert kind_without_gpu_work(calls=its_own, operators=["aten::add"]) == "host_only by_design"
    assert kind_without_gpu_work(calls=[*its_own, "cudaMemcpyAsync"]) == "host_only rows_missing"
    assert kind_without_gpu_work(calls=["cudaEventQuery"] * 30) == "host_only by_design"


def test_ranges_alone_on_a_machine_with_gpus_do_not_say_whether_one_was_used():
    assert kind_without_gpu_work(ranges=["forward"]) == "host_only not_collected"
    assert kind_without_gpu_work(ranges=["forward"], has_gpu=False) == "host_only by_design"
    assert kind_without_gpu_work(ranges=["forward"], calls=["cudaGetDeviceCount"]) == "host_only by_design"
    assert kind_without_gpu_work(ranges=["forward"], operators=["aten::add"]) == "host_only by_design"


def test_what_happens_once_counts_once():
    """Loading inside a first launch, on the thread that launches; the thread beside it counts nothing."""
    trace = TraceBuilder()
    trace.kernel("first", 60 * MS, 10, launched=(0, 50 * MS))
    trace.call("cuModuleLoadData", 10 * MS, 20 * MS, thread=0)
    trace.call("cuModuleLoadData", 52 * MS, 5 * MS, thread=1)
    assert trace.fill("triage").text("select once_ns from triage") == str(50 * MS)


@pytest.mark.parametrize(
    ("early", "kind"),
    [(0, "steps marked"), (50_000, "steps marked"), (200_000, "fragment clocks"), (400 * MS, "fragment clocks")],
)
def test_clocks_that_differ_by_a_tenth_of_a_step_leave_nothing_to_judge(early, kind):
    """Work that starts long before its launch is put into the wrong step, or beyond all of them (kineto#996)."""
    trace = TraceBuilder()
    for step in range(6):
        trace.annotation(f"ProfilerStep#{step}", step * MS, MS)
        for number in range(5):
            launched = step * MS + 100_000 * number
            trace.kernel("k", launched + 10_000 - early, 90_000, launched=(launched, 5_000))
    assert trace.fill("triage").text("select kind, reason from triage") == kind
