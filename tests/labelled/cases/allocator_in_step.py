from __future__ import annotations


def loop(trace, *calls, kernel=500_000):
    """Steps of 1 ms with calls one after the other before the launch."""
    if kernel > 900_000:
        trace.kernel("gemm", 1_000, 1_400_000, launched=(0, 500))
    for number in range(4):
        start = 1_000_000 * (number + 1)
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        at = start + 10_000
        for name in calls:
            trace.call(name, at, 100_000)
            trace.cpu("os", "ioctl", at + 1_000, 98_000)
            at += 100_000
        trace.kernel("gemm", start + 450_000, kernel, launched=(start + 440_000, 5_000))


def found(trace):
    """The cache is emptied and filled again."""
    loop(trace, "cudaFree", "cudaMalloc")


def found_growing(trace):
    """It grows."""
    loop(trace, "cudaMalloc")


def clean(trace):
    """The GPU has work meanwhile."""
    loop(trace, "cudaMalloc", kernel=995_000)


def clean_pinning(trace):
    """Memory of the host."""
    loop(trace, "cudaHostAlloc")


def cannot_tell(trace):
    """No steps: it may be setting up."""
    trace.call("cudaMalloc", 0, 100_000)
    trace.kernel("gemm", 120_000, 10_000, launched=(110_000, 5_000))
    trace.call("cudaMalloc", 200_000, 100_000)
    trace.kernel("relu", 420_000, 10_000, launched=(410_000, 5_000))
