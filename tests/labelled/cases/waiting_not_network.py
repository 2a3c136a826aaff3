from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def _steps(trace, bytes_of, durations):
    for step, dur in enumerate(durations):
        length = 4_400_000 + dur
        ts = step * length
        trace.annotation(f"ProfilerStep#{step}", ts, length)
        trace.call("cudaDeviceSynchronize", ts + 2_220_000, length - 2_225_000)
        trace.kernel("gemm", ts + 100_000, 2_000_000, launched=(ts + 50_000, 10_000))
        reduce = trace.kernel(NAME, ts + 2_200_000, dur, launched=(ts + 2_150_000, 10_000))
        trace.add("collective", slice_id=reduce, op="allreduce", bytes=bytes_of, group_name="0", group_size=8)
        trace.kernel("gemm", ts + 2_300_000 + dur, 2_000_000, launched=(ts + 2_200_000, 10_000))


def found(trace):
    """24 KiB take 10 ms."""
    _steps(trace, 24_576, (10_000_000,) * 3)


def clean_large(trace):
    """A hundred megabytes may take as long."""
    _steps(trace, 100_000_000, (10_000_000,) * 3)


def clean_short(trace):
    """24 KiB in 100 us."""
    _steps(trace, 24_576, (100_000,) * 3)


def cannot_tell(trace):
    """Nobody recorded how much was sent."""
    _steps(trace, None, (10_000_000,) * 3)
