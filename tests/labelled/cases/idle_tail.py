from __future__ import annotations


def steps(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.kernel("gemm", 1000 * step + 10, 900, launched=(1000 * step + 1, 5))


def found(trace):
    """The process waits for input from its terminal."""
    steps(trace)
    trace.cpu("os", "getc", 3500, 4000)


def clean(trace):
    """As long, with the GPU at work."""
    steps(trace)
    trace.cpu("os", "getc", 3500, 4000)
    trace.kernel("evaluate", 3600, 3800, launched=(3510, 5))


def clean_of_little(trace):
    """Less than the steps take."""
    steps(trace)
    trace.cpu("os", "getc", 3500, 2000)
