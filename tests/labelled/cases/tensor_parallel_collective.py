from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
LAYERS = 10


def described(trace, slice_id):
    trace.add("collective", slice_id=slice_id, op="nccl:all_reduce", bytes=67108864, group_name="7", group_size=8)


def found(trace):
    """Each of ten layers computes, then reduces; the next one computes after that."""
    for number, start in enumerate((0, 1_560_000, 3_120_000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1_560_000)
        trace.call("cudaDeviceSynchronize", start + 100_000, 1_455_000)
        for layer in range(LAYERS):
            at, call = start + 150_000 * layer, start + 4_000 * layer
            trace.kernel("gemm", at + 50_000, 80_000, launched=(call + 1_000, 1_000))
            described(trace, trace.kernel(NAME, at + 130_000, 70_000, launched=(call + 3_000, 1_000), stream=20))


def found_sequence(trace):
    """With sequence parallelism: gather, compute, reduce-scatter, layer by layer."""
    for number, start in enumerate((0, 1_860_000, 3_720_000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1_860_000)
        trace.call("cudaDeviceSynchronize", start + 100_000, 1_755_000)
        for layer in range(LAYERS):
            at, call = start + 180_000 * layer + 50_000, start + 4_000 * layer
            scatter = "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL"
            trace.kernel("ncclDevKernel_AllGather_RING_LL", at, 50_000, launched=(call, 1_000), stream=20)
            trace.kernel("gemm", at + 50_000, 80_000, launched=(call + 1_000, 1_000))
            trace.kernel(scatter, at + 130_000, 50_000, launched=(call + 2_000, 1_000), stream=20)


def clean(trace):
    """Ten buckets of gradients, all behind the forward pass."""
    for number, start in enumerate((0, 2000, 4000)):
        trace.annotation(f"ProfilerStep#{number}", start, 2000)
        trace.call("cudaDeviceSynchronize", start + 100, 1890)
        trace.kernel("gemm", start + 50, 800, launched=(start + 1, 1))
        for layer in range(LAYERS):
            at = start + 850 + 100 * layer
            trace.kernel("gemm_backward", at, 50, launched=(start + 4 * layer + 3, 1))
            described(trace, trace.kernel(NAME, at + 50, 50, launched=(start + 4 * layer + 5, 1), stream=20))


def clean_few(trace):
    """Two all-reduces per step are no tensor parallelism."""
    for number, start in enumerate((0, 2000, 4000)):
        trace.annotation(f"ProfilerStep#{number}", start, 2000)
        trace.call("cudaDeviceSynchronize", start + 100, 1890)
        for layer in range(2):
            at = start + 800 * layer
            trace.kernel("gemm", at + 50, 400, launched=(start + 4 * layer + 1, 1))
            described(trace, trace.kernel(NAME, at + 450, 300, launched=(start + 4 * layer + 3, 1), stream=20))


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::allreduce_", 0, 100)
