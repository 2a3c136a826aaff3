from __future__ import annotations


def loop(trace, allocated, reserved):
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=80 << 30)
    for step in range(3):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        trace.kernel("gemm", start + 10, 900, launched=(start + 1, 5))
        for name, value in (("memory_allocated", allocated), ("memory_reserved", reserved)):
            if value:
                trace.add("counter", device=0, name=name, unit="bytes", ts=start + 100, value=float(value))


def found(trace):
    loop(trace, 40 << 30, 60 << 30)


def found_with_calls(trace):
    loop(trace, 40 << 30, 60 << 30)
    trace.call("cudaMalloc", 1200, 100)


def clean(trace):
    """The same share, on a GPU that is nearly empty."""
    loop(trace, 4 << 30, 6 << 30)


def clean_used(trace):
    loop(trace, 58 << 30, 60 << 30)


def cannot_tell(trace):
    """What is reserved is not told."""
    loop(trace, 40 << 30, None)
