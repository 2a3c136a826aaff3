"""Notes on what a capture lacks: there where it changes how the tables are read, and not otherwise."""

from __future__ import annotations

import pytest
from builder import TraceBuilder

CODES = "select code, count from import_note order by code"


def build_training(*, steps=4, streams=(7, 7)):
    """Build steps with a forward operator and two kernels, with idle time before each."""
    trace = TraceBuilder()
    for start in range(0, 1000 * steps, 1000):
        trace.annotation(f"ProfilerStep#{start // 1000}", start, 1000)
        trace.annotation("traceq.phase#forward", start, 500)
        trace.op("aten::mm", start + 10, 300)
        for number, stream in enumerate(streams):
            at = start + 20 + 200 * number
            trace.kernel("gemm", at + 100, 80, launched=(at, 10), stream=stream)
    return trace


def wait(trace):
    trace.add("synchronization", slice_id=900, kind="stream", device=0, ts=10, dur=5)
    return trace


def host_only():
    trace = TraceBuilder()
    trace.op("aten::mm", 0, 10)
    return trace


def gpu_only():
    trace = TraceBuilder()
    trace.kernel("gemm", 0, 10)
    trace.kernel("gemm", 20, 10, stream=8)
    return trace


def calls_only():
    trace = TraceBuilder()
    trace.kernel("gemm", 10, 10, launched=(0, 5))
    return trace


def opaque_graph():
    trace = build_training()
    trace.gpu("graph", "graph 1", 800, 50, launched=(790, 5))
    return trace


def build_reduction(*, described):
    trace = build_training()
    reduce = trace.kernel("ncclDevKernel_AllReduce", 800, 50, launched=(790, 5))
    if described:
        trace.add("collective", slice_id=reduce, op="allreduce")
    return trace


def build_copies_by_kernels():
    trace = build_training()
    for number, name in enumerate(
        ("__amd_rocclr_copyBuffer", "__amd_rocclr_copyBufferAligned", "__amd_rocclr_fillBuffer")
    ):
        trace.kernel(name, 800 + 20 * number, 10, launched=(790, 5))
    return trace


@pytest.mark.parametrize(
    ("trace", "notes"),
    [
        (build_training(), ""),
        (build_training(steps=3), "few_steps 3"),
        (build_training(streams=(7, 8)), "no_synchronization 2"),
        (wait(build_training(streams=(7, 8))), ""),
        (host_only(), "no_gpu_work 1\nno_phases 1\nsteps_not_marked 1"),
        (gpu_only(), "no_host_side 2\nsteps_not_marked 1"),
        (calls_only(), "no_operators 1\nsteps_not_marked 1"),
        (opaque_graph(), "graph_not_traced 1"),
        (build_reduction(described=False), "collective_not_described 1"),
        (build_reduction(described=True), ""),
        (build_copies_by_kernels(), "copies_as_kernels 2\nmemsets_as_kernels 1"),
    ],
    ids=[
        "nothing", "steps", "synchronizations of streams", "nothing with two streams", "GPU", "host", "operators",
        "nodes of a graph", "sizes", "nothing of collectives",
        "engines",
    ],
)  # fmt: skip
def test_notes_say_what_is_missing(trace, notes):
    assert sorted(trace.fill("launch_state", "missing_input", "notes").text(CODES).splitlines()) == sorted(
        notes.splitlines()
    )


def test_migrations_of_unified_memory_are_not_expected_to_be_launched():
    trace = build_training()
    trace.memcpy("um", 900, 10)
    assert trace.fill("launch_state", "missing_input", "notes").text(CODES) == ""
