from __future__ import annotations


def found(trace):
    """Ranges, and nothing in them."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("backbone", ts, 700)
        trace.annotation("head", ts + 700, 290)


def found_backward(trace):
    """Operators everywhere but in the backward pass, which takes most of the step."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts, 300)
        trace.annotation("## backward ##", ts + 300, 690)


def clean(trace):
    """The operators in the range say what it does."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("backbone", ts, 700)
        trace.op("aten::mm", ts, 990)


def clean_with_a_gpu(trace):
    found(trace)
    trace.kernel("gemm", 100, 850, launched=(15, 5))


def cannot_tell(trace):
    """Not even a range."""
    trace.cpu("os", "read", 0, 1000)
