from __future__ import annotations

import json

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def h100s(trace):
    """A machine of eight GPUs, joined by NVLink."""
    for number in range(8):
        trace.add("device", device=number, name="NVIDIA H100 80GB HBM3", compute_capability="9.0", source="trace")


def steps(trace, small, large, size=1 << 25, group="0", ranks=None, later=0):
    """Per step two all-reduces of 8 MiB that take `small`, and two of `size` that take `large`, `later` more each step."""
    for number in range(5):
        start = 4_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 4_000_000)
        trace.call("cudaDeviceSynchronize", start + 1_000, 3_990_000)
        trace.kernel("gemm", start + 50, 1_000_000, launched=(start + 1, 1))
        at = start + 1_000_100
        for place, (dur, count) in enumerate(((small, 1 << 23), (large + later * number, size)) * 2):
            reduce = trace.kernel(NAME, at, dur, launched=(start + 10 + 5 * place, 1), stream=20)
            if group is not None:
                trace.add(
                    "collective",
                    slice_id=reduce,
                    op="allreduce",
                    bytes=count,
                    group_name=group,
                    group_size=8,
                    sequence=at,
                    args=ranks and json.dumps({"Process Group Ranks": ranks}),
                )
            at += dur


def found(trace):
    """Four times the bytes take sixteen times as long."""
    steps(trace, 50_000, 800_000)


def found_below_the_link(trace):
    """All are slow: 32 MiB among eight GPUs take 0.13 ms at NVLink's 450 GB/s, and 0.1 ms of latency."""
    h100s(trace)
    steps(trace, 350_000, 950_000, ranks=list(range(8)))


def clean(trace):
    """Four times the bytes take four times as long."""
    steps(trace, 50_000, 200_000)


def clean_small(trace):
    """A smaller message uses the link less: that is latency."""
    steps(trace, 200_000, 100_000, 1 << 24)


def clean_at_the_link(trace):
    """Half of what the link could do."""
    h100s(trace)
    steps(trace, 150_000, 400_000, ranks=list(range(8)))


def clean_of_late_ranks(trace):
    """They take longer from step to step: other ranks are late, whatever the link does."""
    h100s(trace)
    steps(trace, 120_000, 900_000, later=115_000, ranks=list(range(8)))


def clean_between_machines(trace):
    """One GPU of each of eight machines: a network, of which nothing is known."""
    h100s(trace)
    steps(trace, 350_000, 950_000, ranks=list(range(0, 64, 8)))


def cannot_tell(trace):
    """Sizes are not known."""
    steps(trace, 50_000, 800_000, group=None)
