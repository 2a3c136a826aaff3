from __future__ import annotations


def _calls(trace, recorded):
    trace.annotation("ProfilerStep#1", 0, 1_000_000)
    trace.call("cudaStreamBeginCapture_v10000", 1_000, 2_000)
    for number in range(recorded):
        trace.call("cudaLaunchKernel", 10_000 + 10_000 * number, 5_000)
    trace.call("cudaStreamEndCapture_v10000", 20_000 + 10_000 * recorded, 2_000)
    for number in range(10):
        trace.kernel("gemm", 600_000 + 20_000 * number, 10_000, launched=(590_000 + 20_000 * number, 5_000))


def found(trace):
    """Forty launches recorded, ten run."""
    _calls(trace, 40)


def clean(trace):
    """Five are recorded, ten run."""
    _calls(trace, 5)


def clean_missing(trace):
    """Nothing is recorded: the kernels of most launches are not in the file."""
    trace.annotation("ProfilerStep#1", 0, 1_000_000)
    for number in range(40):
        trace.call("cudaLaunchKernel", 10_000 + 10_000 * number, 5_000)
    trace.kernel("gemm", 600_000, 10_000, launched=(590_000, 5_000))


def cannot_tell(trace):
    """No calls."""
    trace.kernel("gemm", 0, 1_000)
