from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _kernels(trace, latency):
    for start in _steps(trace):
        for place in range(19):
            ts = start + 5_000 + 50_000 * place
            trace.kernel("gemm", ts + latency, 50_000 - latency, launched=(start + 1_000 * place, 500))
        trace.call("cudaDeviceSynchronize", start + 20_000, 937_000)


def found_short(trace):
    """Kernels queue, with 8 us between each two."""
    _kernels(trace, 8_000)


def clean_long(trace):
    """Launched long before, a kernel starts late: it waits for something that was not traced (idle-unattributed)."""
    for start in _steps(trace):
        for place in range(12):
            trace.kernel("gemm", start + 10_000 + 25_000 * place, 25_000, launched=(start + 1_000 + 600 * place, 500))
        trace.kernel("gemm", start + 700_000, 300_000, launched=(start + 10_000, 5_000))


def clean(trace):
    """Kernels queue one behind the other."""
    _kernels(trace, 100)


def cannot_tell_few(trace):
    """Three kernels in the only step: nothing that could become fewer and longer."""
    trace.annotation("ProfilerStep#1", 0, 1_000_000)
    for place in range(3):
        trace.kernel("gemm", 60_000 + 100_000 * place, 50_000, launched=(100_000 * place + 10_000, 20_000))


def cannot_tell(trace):
    """The launching calls were not traced."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000)
