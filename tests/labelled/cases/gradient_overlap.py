from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, reduce):
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 110, 880)
        trace.annotation("forward", start + 1, 20)
        trace.kernel("gemm", start + 20, 200, launched=(start + 5, 5))
        trace.annotation("backward", start + 30, 60)
        trace.kernel("gemm", start + 220, 400, launched=(start + 35, 5))
        trace.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", start + 45, 20)
        gradient = trace.kernel(NAME, start + reduce, 300, launched=(start + 50, 5), stream=20)
        trace.add(
            "collective", slice_id=gradient, op="allreduce", bytes=26214400, dtype="Float", group_name="0", group_size=8
        )
        trace.kernel("adam", start + 940, 40, launched=(start + 100, 5))


def found(trace):
    """All gradients are reduced after the backward pass."""
    steps(trace, 630)


def found_by_phase(trace):
    """The same without marks of the gradients' hooks, by a reduce-scatter."""
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 110, 880)
        trace.annotation("forward", start + 1, 20)
        trace.kernel("gemm", start + 20, 200, launched=(start + 5, 5))
        trace.annotation("backward", start + 30, 60)
        trace.kernel("gemm", start + 220, 400, launched=(start + 35, 5))
        trace.kernel(
            "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", start + 630, 300, launched=(start + 50, 5), stream=20
        )


def clean(trace):
    """The same all-reduce beside backward's kernels."""
    steps(trace, 250)


def clean_broadcast(trace):
    """A broadcast reduces nothing."""
    for start in (0, 1000, 2000):
        trace.annotation("ProfilerStep#1", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 110, 880)
        trace.annotation("forward", start + 1, 20)
        trace.kernel("gemm", start + 20, 600, launched=(start + 5, 5))
        trace.kernel("ncclDevKernel_Broadcast_RING_LL", start + 630, 300, launched=(start + 12, 5), stream=20)


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::allreduce_", 0, 100)
