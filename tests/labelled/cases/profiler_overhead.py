from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def found(trace):
    """The profiler flushes its buffers while the GPU has nothing to do."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
        trace.cpu("overhead", "CUPTI Buffer flush", start + 400_000, 300_000)
        trace.kernel("gemm", start + 720_000, 270_000, launched=(start + 705_000, 5_000))


def clean(trace):
    """It flushes while a kernel runs."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 970_000, launched=(start + 5_000, 5_000))
        trace.cpu("overhead", "CUPTI Buffer flush", start + 400_000, 300_000)


def cannot_tell(trace):
    """No GPU."""
    for start in _steps(trace):
        trace.cpu("overhead", "CUPTI Buffer flush", start + 400_000, 300_000)
