from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _save(trace, busy, copies=False):
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, busy, launched=(start + 5_000, 5_000))
        if start == 1_000_000:
            trace.annotation("save_checkpoint", start + 310_000, 600_000)
            if copies:
                trace.memcpy("d2h", start + 320_000, 100_000, launched=(start + 312_000, 110_000), bytes=1_000_000)
        trace.kernel("gemm", start + 950_000, 40_000, launched=(start + 930_000, 5_000))


def found(trace):
    """One of three steps saves; the GPU waits."""
    _save(trace, 300_000)


def found_copies(trace):
    """A sixth of the save is copying the state to the host, which a save in the background waits for as well."""
    _save(trace, 300_000, copies=True)


def clean(trace):
    """The GPU has enough to do while the host saves."""
    _save(trace, 920_000)


def cannot_tell(trace):
    """No GPU."""
    for start in _steps(trace):
        trace.annotation("save_checkpoint", start + 310_000, 600_000)
