from __future__ import annotations

REDUCE = "ncclDevKernel_AllReduce_Sum_{}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def _steps(trace, dtype, *, name=None, waiting=()):
    """Three steps of a kernel and all-reduces behind it, on whose result the next step waits."""
    for number, start in enumerate((0, 10_000_000, 20_000_000)):
        trace.annotation(f"ProfilerStep#{number}", start, 10_000_000)
        trace.call("cudaDeviceSynchronize", start + 500_000, 9_400_000)
        trace.kernel("gemm", start + 20_000, 2_000_000, launched=(start + 5_000, 5_000))
        for place in range(4):
            late = 500_000 if (number, place) in waiting else 0
            reduce = trace.kernel(
                (name or REDUCE).format(dtype),
                start + 2_100_000 + place * 1_600_000,
                1_000_000 + late,
                launched=(start + 20_000 + place * 8_000, 5_000),
                stream=20,
            )
            if not name:
                trace.add(
                    "collective",
                    slice_id=reduce,
                    op="nccl:all_reduce",
                    dtype="Float" if dtype == "f32" else "BFloat16",
                    bytes=64 << 20,
                    group_name="0",
                    group_size=8,
                )


def found(trace):
    """All-reduces of 32-bit numbers after all compute."""
    _steps(trace, "f32")


def found_by_name(trace):
    """Nothing describes them, but NCCL's kernels have the type in their names."""
    _steps(trace, "f32", name=REDUCE)


def clean_narrow(trace):
    """They send 16 bits already."""
    _steps(trace, "bf16")


def clean_unknown(trace):
    """A kernel that sends and receives may carry anything."""
    _steps(trace, "f32", name="ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")


def cannot_tell(trace):
    """No steps, no GPU."""
    trace.op("c10d::allreduce_", 0, 100)
