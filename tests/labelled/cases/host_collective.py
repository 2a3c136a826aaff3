from __future__ import annotations


def found(trace):
    """A barrier in every step, with nothing running on the GPU."""
    for start in (0, 1000, 2000):
        trace.annotation("outer", start, 1000)
        trace.kernel("gemm", start + 500, 400, launched=(start + 450, 5))
        trace.annotation("gloo:barrier", start + 10, 430)


def clean(trace):
    """The same barrier while the GPU works on what was launched before it."""
    for start in (0, 1000, 2000):
        trace.annotation("outer", start, 1000)
        trace.kernel("gemm", start + 10, 980, launched=(start + 1, 5))
        trace.annotation("gloo:barrier", start + 10, 430)


def cannot_tell(trace):
    """No GPU."""
    for start in (0, 1000, 2000):
        trace.annotation("gloo:barrier", start, 430)
