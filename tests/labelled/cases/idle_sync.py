from __future__ import annotations

from labelled.cases.item_read import loop


def found(trace):
    """The call takes long to return."""
    loop(trace)


def found_in_a_framework(trace):
    """It waits in Python, without a call of the runtime, and launches late into the empty queue: that is most of it."""
    for number in range(4):
        start = 1_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.op("aten::mm", start + 60_000, 140_000)
        trace.kernel("gemm", start + 200_000, 700_000, launched=(start + 180_000, 5_000))
        trace.cpu("python", "api.py(3154): block_until_ready", start + 250_000, 655_000)


def clean(trace):
    """It returns before the GPU runs dry."""
    loop(trace, lag=150_000, wait=3_000)


def cannot_tell(trace):
    """No call is in the trace."""
    trace.kernel("gemm", 0, 100)
