from __future__ import annotations

NAME = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, broadcast):
    for start in (0, 1000, 2000):
        trace.annotation("ProfilerStep#1", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 50, 940)
        trace.kernel("gemm", start + 20, 600, launched=(start + 5, 5))
        trace.kernel(NAME, start + broadcast, 300, launched=(start + 12, 5), stream=20)


def found(trace):
    """A broadcast after all compute."""
    steps(trace, 620)


def clean(trace):
    """The same broadcast beside compute."""
    steps(trace, 100)


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::broadcast_", 0, 100)
