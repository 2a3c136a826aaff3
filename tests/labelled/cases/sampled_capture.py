from __future__ import annotations


def _kernels(trace, apart):
    for number in range(20):
        ts = 10_000 * number
        trace.call("cudaLaunchKernel", ts, 5_000, apart * (number + 1))
        trace.kernel("gemm", ts + 6_000, 3_000, correlation_id=apart * (number + 1))


def found(trace):
    """One call in fifty is there."""
    _kernels(trace, 50)


def clean(trace):
    """Between two launches are four calls that the profiler leaves out."""
    _kernels(trace, 5)


def cannot_tell(trace):
    """No calls."""
    trace.kernel("gemm", 0, 1_000)
