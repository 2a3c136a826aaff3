from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 2_000_000, 2_000_000)
        yield number * 2_000_000


def _loop(trace, start, *, dur=2_000, count=50, every=36_000, waits=False):
    for number in range(count):
        at = start + number * every
        trace.op("aten::add", at, 20_000)
        trace.kernel("add", at + 18_000, dur, launched=(at + 10_000, 6_000))
        if waits:
            trace.call("cudaDeviceSynchronize", at + 20_500, dur + 1_000)


def found(trace):
    """A hundred and fifty kernels of 2 us, every 36 us."""
    for start in _steps(trace):
        _loop(trace, start)


def found_synchronized(trace):
    """The same with a synchronization after each."""
    for start in _steps(trace):
        _loop(trace, start, waits=True)


def clean_long(trace):
    """Kernels that last until the next is launched."""
    for start in _steps(trace):
        _loop(trace, start, dur=35_900)


def clean_few(trace):
    """Thirty kernels make no loop; whatever the host does between them, it is not launching."""
    for start in _steps(trace):
        _loop(trace, start, count=10)


def clean_queued(trace):
    """Tiny kernels one behind the other: the host is ahead."""
    for start in _steps(trace):
        for number in range(60):
            trace.kernel("add", start + 10_000 + number * 9_000, 8_990, launched=(start + number * 7_000, 6_000))
        trace.kernel("gemm", start + 550_000, 1_455_000, launched=(start + 500_000, 6_000))


def cannot_tell(trace):
    """The launching calls were not traced."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000)
