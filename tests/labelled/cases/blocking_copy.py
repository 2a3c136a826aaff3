from __future__ import annotations

STEPS = (0, 1_000_000, 2_000_000)


def copy(trace, kind, ts, dur, size, call="cudaMemcpy", held=None):
    trace._correlations += 1
    trace.call(call, ts - 10_000, dur + 20_000 if held is None else held, trace._correlations)
    trace.gpu("memcpy", f"Memcpy {kind}", ts, dur, copy_kind=kind, bytes=size, correlation_id=trace._correlations)


def step(trace, start):
    trace.annotation("outer", start, 1_000_000)
    trace.kernel("jacobi", start + 100_000, 200_000, launched=(start + 10_000, 5_000))
    trace.kernel("jacobi", start + 600_000, 200_000, launched=(start + 590_000, 5_000))


def found(trace):
    """The result goes to the host by cudaMemcpy."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 320_000, 100_000, 1 << 20)


def found_value(trace):
    """A number per iteration: the host waits for the kernel, and launches the next one late."""
    for start in STEPS:
        trace.annotation("outer", start, 1_000_000)
        trace.kernel("jacobi", start + 100_000, 500_000, launched=(start + 10_000, 5_000))
        copy(trace, "d2h", start + 601_000, 2_000, 4, held=100_000)
        trace.call("cudaGetLastError", start + 700_000, 190_000)
        trace.kernel("jacobi", start + 900_000, 80_000, launched=(start + 890_000, 5_000))


def clean(trace):
    """Asynchronous, and the host goes on."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "d2h", start + 320_000, 100_000, 1 << 20, "cudaMemcpyAsync", 5_000)


def clean_small(trace):
    """Few bytes to the device: the call returns at once."""
    for start in STEPS:
        step(trace, start)
        copy(trace, "h2d", start + 320_000, 20_000, 4096, held=5_000)


def cannot_tell(trace):
    """The calls are not in the trace."""
    trace.annotation("outer", 0, 1_000_000)
    trace.memcpy("h2d", 320_000, 100_000, bytes=1 << 20)
