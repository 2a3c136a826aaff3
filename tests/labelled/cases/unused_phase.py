from __future__ import annotations


def loop(trace, work=None, kernel=300):
    """A range of 600 ns in a step of 1000, before which the GPU is done."""
    for step in range(3):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        trace.kernel("gemm", start + 50, kernel, launched=(start + 10, 5))
        trace.annotation("wait for the scheduler", start + 390, 600)
        if work:
            work(start + 395, 590)


def found(trace):
    loop(trace)


def found_sleeping(trace):
    loop(trace, lambda ts, dur: trace.cpu("os", "clock_nanosleep", ts, dur))


def clean(trace):
    """An operator works in it."""
    loop(trace, lambda ts, dur: trace.op("aten::sort", ts, dur))


def clean_hidden(trace):
    """The GPU computes meanwhile."""
    loop(trace, kernel=940)


def cannot_tell(trace):
    """Nothing is marked."""
    trace.op("aten::mm", 0, 1000)
    trace.kernel("gemm", 500, 400, launched=(490, 5))
