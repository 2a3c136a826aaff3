from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"step {number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _calls(trace, name, busy=300_000):
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, busy, launched=(start + 5_000, 5_000))
        trace.cpu("os", name, start + 340_000, 500_000)
        trace.kernel("gemm", start + 950_000, 40_000, launched=(start + 930_000, 5_000))


def found_write(trace):
    """The thread writes a file."""
    _calls(trace, "fwrite")


def found_lock(trace):
    """It waits for another thread."""
    _calls(trace, "pthread_cond_wait")


def clean(trace):
    """The GPU has enough to do meanwhile."""
    _calls(trace, "fwrite", busy=925_000)


def cannot_tell(trace):
    """No such calls were recorded."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000, launched=(start + 5_000, 5_000))
