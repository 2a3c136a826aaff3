from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("jacobi", start + 700_000, 200_000, launched=(start + 50_000, 5_000))


def found(trace):
    """One buffer is copied into the other after each iteration."""
    for start in STEPS:
        step(trace, start)
        trace.memcpy("d2d", start + 300_000, 399_000, launched=(start + 20_000, 5_000), bytes=8 << 20)
        trace.call("cudaDeviceSynchronize", start + 60_000, 845_000)


def clean(trace):
    """Beside a kernel."""
    for start in STEPS:
        step(trace, start)
        trace.memcpy("d2d", start + 720_000, 150_000, launched=(start + 290_000, 5_000), bytes=8 << 20, stream=9)


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 1000)
