from __future__ import annotations

GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, operator, gather=0):
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        for layer in range(4):
            at, call = start + 200 * layer + 60, start + 12 * layer
            trace.kernel("conv", at, 100, launched=(call + 1, 1))
            trace.op(operator, call + 3, 8)
            trace.op("c10d::_allgather_base_", call + 4, 4)
            trace.kernel(GATHER, at + 100 - gather, 60, launched=(call + 5, 1), stream=20)


def found(trace):
    """Every layer waits for the statistics of all ranks."""
    steps(trace, "SyncBatchNorm")


def clean(trace):
    """The same gathers for something else."""
    steps(trace, "gather_metrics")


def clean_overlapped(trace):
    """Gathers of batch normalization beside compute."""
    steps(trace, "SyncBatchNorm", 80)


def cannot_tell(trace):
    """Nothing names what asked for the gather."""
    for start in (0, 1000, 2000):
        trace.kernel("conv", start + 60, 100, launched=(start, 1))
        trace.kernel(GATHER, start + 160, 60, launched=(start + 5, 1), stream=20)
