from __future__ import annotations


def steps(trace, wait):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.cpu("os", "pthread_cond_wait", ts + 100, wait)


def found(trace):
    """Half of a step passes in waiting for a lock."""
    steps(trace, 500)


def clean(trace):
    steps(trace, 5)


def clean_under_a_fetch(trace):
    """The loader waits there: time of input."""
    steps(trace, 500)
    for step in range(3):
        trace.annotation("load_batch", 1000 * step + 90, 520)


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.op("aten::mm", 1000 * step, 900)
