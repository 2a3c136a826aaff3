from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, size=4096, between=False, has_sizes=True):
    for number, start in enumerate((0, 2_000_000, 4_000_000)):
        trace.annotation(f"ProfilerStep#{number}", start, 2_000_000)
        trace.call("cudaDeviceSynchronize", start + 10_000, 1_980_000)
        trace.kernel("gemm", start + 5_000, 1_000_000, launched=(start + 10, 10))
        for place in range(16):
            at, call = start + 1_010_000 + 40_000 * place, start + 1_000 + 100 * place
            reduce = trace.kernel(NAME, at, 30_000, launched=(call, 10), stream=20)
            if has_sizes:
                trace.add("collective", slice_id=reduce, op="allreduce", bytes=size, group_name="0", group_size=8)
            if between:
                trace.kernel("norm", at + 31_000, 8_000, launched=(call + 50, 10))


def found(trace):
    """Sixteen metrics are reduced one by one."""
    steps(trace)


def clean(trace):
    """A kernel is launched between each and the next."""
    steps(trace, between=True)


def clean_large(trace):
    """As many, of 32 MiB."""
    steps(trace, 1 << 25)


def cannot_tell(trace):
    """Sizes are not known."""
    steps(trace, has_sizes=False)
