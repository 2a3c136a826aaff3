from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, small, large, size=1 << 25, group="0"):
    """Per step two all-reduces of 8 MiB that take `small`, and two of `size` that take `large`."""
    for number in range(5):
        start = 4_000_000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 4_000_000)
        trace.call("cudaDeviceSynchronize", start + 1_000, 3_990_000)
        trace.kernel("gemm", start + 50, 1_000_000, launched=(start + 1, 1))
        at = start + 1_000_100
        for place, (dur, count) in enumerate(((small, 1 << 23), (large, size)) * 2):
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
                )
            at += dur


def found(trace):
    """Four times the bytes take sixteen times as long."""
    steps(trace, 50_000, 800_000)


def clean(trace):
    """Four times the bytes take four times as long."""
    steps(trace, 50_000, 200_000)


def clean_small(trace):
    """A smaller message uses the link less: that is latency."""
    steps(trace, 200_000, 100_000, 1 << 24)


def cannot_tell(trace):
    """Sizes are not known."""
    steps(trace, 50_000, 800_000, group=None)
