from __future__ import annotations


def found(trace):
    """The host does nothing that was traced between launches."""
    for start in (0, 1000, 2000):
        trace.annotation("outer", start, 10)
        trace.kernel("gemm", start + 500, 400, launched=(start + 490, 5))


def clean(trace):
    """An operator covers the wait."""
    for start in (0, 1000, 2000):
        trace.op("aten::mm", start, 1000)
        trace.kernel("gemm", start + 500, 400, launched=(start + 490, 5))


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
