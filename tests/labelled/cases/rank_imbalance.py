from __future__ import annotations


def loop(trace, first, second):
    """Two devices of one capture, that meet in an all-reduce at 900."""
    for step in range(3):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        for device, busy in ((0, first), (1, second)):
            trace.kernel("gemm", start + 10, busy, launched=(start + 1 + device, 1), device=device)
            name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
            trace.kernel(name, start + 10 + busy, 980 - busy, launched=(start + 5 + device, 1), device=device)


def found(trace):
    loop(trace, 900, 500)


def clean(trace):
    loop(trace, 900, 890)


def clean_single(trace):
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.kernel("gemm", 10, 900, launched=(1, 5))


def cannot_tell(trace):
    """One rank of eight."""
    trace.add("trace", producer="tests", rank=0, world_size=8)
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.kernel("gemm", 10, 900, launched=(1, 5))
