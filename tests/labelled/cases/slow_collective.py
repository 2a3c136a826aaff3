from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, durations, size=26214400):
    start = 0
    for number in range(12):
        length = 360 + durations[number % len(durations)]
        trace.annotation(f"ProfilerStep#{number}", start, length)
        trace.call("cudaDeviceSynchronize", start + 60, length - 65)
        trace.kernel("gemm", start + 50, 300, launched=(start + 1, 1))
        reduce = trace.kernel(
            NAME, start + 350, durations[number % len(durations)], launched=(start + 10, 1), stream=20
        )
        if size:
            trace.add("collective", slice_id=reduce, op="allreduce", bytes=size, group_name="0", group_size=8)
        start += length


def found(trace):
    """One of twelve takes six times as long."""
    steps(trace, [100] * 11 + [600])


def found_without_sizes(trace):
    """So does one, compared with the same all-reduce of other steps."""
    steps(trace, [100] * 11 + [600], None)


def clean(trace):
    """All vary: long ones are usual."""
    steps(trace, [20, 150, 40, 600])


def clean_other_sizes(trace):
    """What takes long is larger."""
    for number in range(12):
        start = 1000 * number
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        trace.kernel("gemm", start + 50, 300, launched=(start + 1, 1))
        for place, (size, dur) in enumerate(((1 << 20, 50), (1 << 26, 400))):
            at = start + 350 + 100 * place
            reduce = trace.kernel(NAME, at, dur, launched=(start + 10 + 5 * place, 1), stream=20)
            trace.add("collective", slice_id=reduce, op="allreduce", bytes=size, group_name="0", group_size=8)


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::allreduce_", 0, 100)
