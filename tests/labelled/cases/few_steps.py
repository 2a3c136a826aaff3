from __future__ import annotations


def loop(trace, steps):
    for step in range(steps):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.kernel("gemm", 1000 * step + 10, 900, launched=(1000 * step + 1, 5))


def found_one(trace):
    loop(trace, 1)


def found_two(trace):
    loop(trace, 2)


def clean(trace):
    loop(trace, 3)


def clean_unmarked(trace):
    """Another rule's business."""
    trace.op("aten::mm", 0, 1000)
    trace.kernel("gemm", 500, 400, launched=(490, 5))
