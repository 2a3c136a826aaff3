from __future__ import annotations

NAME = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def steps(trace, operator, wait=450):
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.call("cudaDeviceSynchronize", start + 60, 930)
        trace.kernel("gemm", start + 50, 400, launched=(start + 1, 1))
        if operator:
            trace.op(operator, start + 20, 20)
        trace.kernel(NAME, start + wait, 300, launched=(start + 25, 1), stream=20)


def found(trace):
    """A stage waits for the one before it."""
    steps(trace, "c10d::recv_")


def found_by_kernel(trace):
    """Only the kernel's name says so."""
    steps(trace, None)


def clean(trace):
    """The same transfer beside compute."""
    steps(trace, "c10d::recv_", 100)


def clean_all_to_all(trace):
    """An all-to-all runs in the same kernel; so does one whose launch was not recorded."""
    steps(trace, "c10d::alltoall_base_")
    trace.kernel(NAME, 2800, 150, stream=20)


def cannot_tell(trace):
    """No GPU."""
    trace.op("c10d::recv_", 0, 100)
