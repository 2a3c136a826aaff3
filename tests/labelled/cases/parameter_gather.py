from __future__ import annotations

GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SCATTER = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def found(trace):
    """Each layer waits for its parameters, forward and backward."""
    for number, start in enumerate((0, 2000, 4000)):
        trace.annotation(f"ProfilerStep#{number}", start, 2000)
        trace.call("cudaDeviceSynchronize", start + 60, 1930)
        for layer in range(8):
            at = start + 200 * layer + 50
            trace.annotation(f"FSDP::all_gather (layers.{layer % 4})", start + 4 * layer, 2)
            trace.kernel(GATHER, at, 60, launched=(start + 4 * layer, 1), stream=20)
            trace.kernel("gemm", at + 60, 100, launched=(start + 4 * layer + 3, 1))
            if layer >= 4:
                trace.kernel(SCATTER, at + 160, 40, launched=(start + 4 * layer + 3, 1), stream=24)


def found_after_optimizer(trace):
    """The updated parameters are gathered in the optimizer's step."""
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        trace.kernel("gemm", start + 50, 500, launched=(start + 1, 1))
        trace.annotation("Optimizer.step#Shampoo.step", start + 20, 20)
        trace.kernel(GATHER, start + 550, 300, launched=(start + 25, 1), stream=20)


def clean(trace):
    """The next layer is gathered while this one computes."""
    for number, start in enumerate((0, 2000, 4000)):
        trace.annotation(f"ProfilerStep#{number}", start, 2000)
        trace.call("cudaDeviceSynchronize", start + 60, 1930)
        trace.kernel("gemm", start + 20, 1900, launched=(start + 1, 1))
        for layer in range(8):
            at = start + 200 * layer + 50
            trace.annotation(f"FSDP::all_gather (layers.{layer % 4})", start + 4 * layer + 2, 2)
            trace.kernel(GATHER, at, 60, launched=(start + 4 * layer + 2, 1), stream=20)


def clean_metrics(trace):
    """Outputs are gathered in the forward pass; nothing is sharded."""
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        trace.annotation("forward", start, 40)
        trace.kernel("gemm", start + 50, 500, launched=(start + 1, 1))
        trace.kernel(GATHER, start + 550, 300, launched=(start + 25, 1), stream=20)


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::allgather_", 0, 100)
