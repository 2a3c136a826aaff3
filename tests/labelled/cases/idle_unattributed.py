from __future__ import annotations


def found(trace):
    """The host does nothing that was traced between launches."""
    for start in (0, 1000, 2000):
        trace.annotation("outer", start, 10)
        trace.kernel("gemm", start + 500, 400, launched=(start + 490, 5))


def found_waiting(trace):
    """Launched long before, a kernel starts late."""
    for start in (0, 1_000_000, 2_000_000):
        trace.annotation("outer", start, 1_000_000)
        trace.kernel("gemm", start + 10_000, 300_000, launched=(start + 1_000, 5_000))
        trace.kernel("gemm", start + 700_000, 300_000, launched=(start + 10_000, 5_000))


def clean(trace):
    """An operator covers the wait."""
    for start in (0, 1000, 2000):
        trace.op("aten::mm", start, 1000)
        trace.kernel("gemm", start + 500, 400, launched=(start + 490, 5))


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
