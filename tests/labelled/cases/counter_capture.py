from __future__ import annotations


def _launches(trace, category):
    trace.annotation("ProfilerStep#1", 0, 1_000_000)
    trace.op("aten::mm", 50_000, 150_000)
    trace.call("cudaLaunchKernel", 100_000, 90_000)
    trace.cpu("other", "gemm", 90_000, 120_000, thread=1, category=category)


def found(trace):
    """A range of counters beside the launch."""
    _launches(trace, "cuda_profiler_range")


def clean(trace):
    """Something else beside it."""
    _launches(trace, "other")
