from __future__ import annotations


def loop(trace, durations):
    at = 0
    for step, dur in enumerate(durations):
        trace.annotation(f"ProfilerStep#{step}", at, dur)
        trace.kernel("gemm", at + dur - 400, 390, launched=(at + dur - 410, 5))
        at += dur


def found(trace):
    """Three steps are too few to exclude the first."""
    loop(trace, [3000, 1000, 1010])


def clean(trace):
    """Excluded already."""
    loop(trace, [3000, 1000, 1010, 1000, 1005])


def clean_slow_later(trace):
    """Not the first is the slow one."""
    loop(trace, [1600, 1000, 3000])


def cannot_tell(trace):
    loop(trace, [3000])
