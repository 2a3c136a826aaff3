from __future__ import annotations


def found(trace):
    """Nothing recurs."""
    trace.op("aten::mm", 0, 1000)
    trace.kernel("gemm", 500, 400, launched=(490, 5))


def found_recurring(trace):
    """The same ten launches over and over, without a mark."""
    for step in range(6):
        for number in range(10):
            at = 1000 * step + 90 * number
            trace.op(f"aten::op{number}", at, 20)
            trace.kernel(f"kernel{number}", at + 10, 60, launched=(at + 1, 5))


def found_candidates(trace):
    """Ranges that could be steps, and whose name could be a command."""
    for start in (0, 1000, 2500):
        trace.annotation("it's; rm -rf ~", start, 900)
    trace.kernel("gemm", 3500, 400, launched=(3490, 5))


def clean(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.kernel("gemm", 1000 * step + 10, 900, launched=(1000 * step + 1, 5))
