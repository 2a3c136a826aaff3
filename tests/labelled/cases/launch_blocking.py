from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def found(trace):
    """Each call returns when its kernel has ended."""
    for start in _steps(trace):
        for ts in range(start, start + 1_000_000, 100_000):
            trace.op("aten::mm", ts + 1_000, 90_000)
            trace.kernel("gemm", ts + 30_000, 50_000, launched=(ts + 20_000, 62_000))


def clean_last_call_waits(trace):
    """Calls return at once; the host waits for all of them, once a step, in a call of its own."""
    for start in _steps(trace):
        for ts in range(start, start + 1_000_000, 100_000):
            trace.op("aten::mm", ts + 1_000, 90_000)
            trace.kernel("gemm", ts + 30_000, 50_000, launched=(ts + 20_000, 5_000))
        trace.call("cudaDeviceSynchronize", start + 992_000, 6_000)


def clean_a_few(trace):
    """The first launches of a step take long, the others do not."""
    for start in _steps(trace):
        for number, ts in enumerate(range(start, start + 1_000_000, 50_000)):
            trace.kernel("gemm", ts + 30_000, 10_000, launched=(ts + 20_000, 25_000 if number < 5 else 5_000))


def cannot_tell(trace):
    """The launching calls were not traced."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 30_000, 50_000)
