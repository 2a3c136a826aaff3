"""What a capture is: the table triage, kind by kind."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

MS = 1_000_000


def nothing(_trace):
    pass


def operators(trace):
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


def recording_a_graph(trace):
    trace.call("cudaStreamBeginCapture", 0, 10)
    for number in range(20):
        trace.call("cudaLaunchKernel", 100 + 100 * number, 10, 100 + number)
    trace.call("cudaStreamEndCapture", 3_000, 10)
    trace.kernel("fill", 4_100, 10, launched=(4_000, 10))


def lost_in_the_middle(trace):
    for number in range(20):
        if number % 2:
            trace.call("cudaLaunchKernel", 100 * number, 10, 1_000 + number)
        else:
            trace.kernel(f"kernel {number}", 100 * number + 20, 10, launched=(100 * number, 10))


def queued_at_the_end(trace):
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


def cold(trace):
    trace.kernel("first", 60 * MS, 10, launched=(0, 50 * MS))
    trace.kernel("second", 70 * MS, 10, launched=(69 * MS, 10))


def whole_run(trace):
    trace.call("cuInit", 0, 10)
    for number in range(5):
        trace.kernel(f"kernel {number}", MS * (number + 1) + 100, 10, launched=(MS * (number + 1), 10))


def one_step(trace):
    trace.annotation("ProfilerStep#7", 0, 10_000)
    for number in range(10):
        trace.kernel(f"kernel {number}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


def a_loop(trace):
    for number in range(24):
        trace.kernel(f"kernel {number % 3}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


def work(trace):
    for number in range(20):
        trace.kernel(f"kernel {number}", 1_000 * number + 100, 10, launched=(1_000 * number + 50, 10))


@pytest.mark.parametrize(
    ("add", "kind"),
    [
        (nothing, "nothing_recorded empty"),
        (operators, "host_only by_design"),
        (launches_alone, "host_only rows_missing"),
        (operators_of_gpus, "host_only rows_missing"),
        (not_collected, "host_only not_collected"),
        (of_another_device, "host_only other_device"),
        (set_up, "start_up_only stopped"),
        (recording_a_graph, "fragment graph_capture"),
        (lost_in_the_middle, "fragment lost"),
        (queued_at_the_end, "window unmarked"),
        (every_30th_call, "fragment sampled"),
        (inside_a_forward, "steps marked"),
        (cut_by_the_end, "fragment no_unit"),
        (cold, "one_off cold"),
        (whole_run, "one_off whole_run"),
        (one_step, "steps marked"),
        (a_loop, "steps recurrence"),
        (work, "window unmarked"),
    ],
    ids=lambda each: each.__name__ if callable(each) else None,
)
def test_what_a_capture_is(add, kind):
    trace = TraceBuilder()
    add(trace)
    assert trace.fill("triage").text("select kind, reason from triage") == kind


def test_what_happens_once_counts_once():
    """Loading inside a first launch, on the thread that launches; the thread beside it counts nothing."""
    trace = TraceBuilder()
    trace.kernel("first", 60 * MS, 10, launched=(0, 50 * MS))
    trace.call("cuModuleLoadData", 10 * MS, 20 * MS, thread=0)
    trace.call("cuModuleLoadData", 52 * MS, 5 * MS, thread=1)
    assert trace.fill("triage").text("select once_ns from triage") == str(50 * MS)
