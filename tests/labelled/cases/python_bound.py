from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _kernels(trace, busy):
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, busy, launched=(start + 5_000, 5_000))
        trace.kernel("gemm", start + 950_000, 45_000, launched=(start + 930_000, 5_000))
        yield start


def found_range(trace):
    """Nothing but the step's range is open."""
    list(_kernels(trace, 300_000))


def found_frame(trace):
    """A frame of the program."""
    for start in _kernels(trace, 300_000):
        trace.cpu("python", "train.py(12): accuracy", start + 330_000, 550_000)


def clean(trace):
    """The GPU has enough to do meanwhile."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 5_000, 990_000, launched=(start + 1_000, 3_000))
        trace.cpu("python", "train.py(12): accuracy", start + 330_000, 550_000)


def cannot_tell(trace):
    """Neither ranges nor frames."""
    for start in range(0, 3_000_000, 100_000):
        trace.kernel("gemm", start + 50_000, 40_000, launched=(start + 10_000, 5_000))
