from __future__ import annotations

FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def loop(trace, fetch, kernel):
    """Steps of 1 ms that fetch first, for so long, then launch a kernel that long."""
    if kernel > 900_000:
        trace.kernel("gemm", 1_000, 1_400_000, launched=(0, 500))
    for number in range(4):
        start = 1_000_000 * (number + 1)
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.annotation(fetch, start, 400_000)
        trace.op("aten::stack", start + 100_000, 200_000)
        trace.kernel("gemm", start + 420_000, kernel, launched=(start + 405_000, 5_000))


def found(trace):
    """The GPU waits for each batch."""
    loop(trace, FETCH, 500_000)


def clean(trace):
    """The GPU still has work while the next batch is made."""
    loop(trace, FETCH, 999_000)


def clean_with_workers(trace):
    """The GPU waits, but for workers."""
    loop(trace, FETCH.replace("_SingleProcess", "_MultiProcessing"), 500_000)


def cannot_tell(trace):
    """Nothing says what the host does."""
    loop(trace, "something", 500_000)
