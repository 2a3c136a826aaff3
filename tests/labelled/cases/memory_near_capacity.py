from __future__ import annotations


def loop(trace, allocated, reserved, capacity=80 << 30):
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=capacity)
    for step in range(3):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        trace.kernel("gemm", start + 10, 900, launched=(start + 1, 5))
        for ts, share in ((100, 1), (900, 0.5)):
            for name, value in (("memory_allocated", allocated * share), ("memory_reserved", reserved)):
                trace.add("counter", device=0, name=name, unit="bytes", ts=start + ts, value=float(value))


def found(trace):
    loop(trace, 75 << 30, 76 << 30)


def found_reserved(trace):
    """Tensors take half of what the allocator holds."""
    loop(trace, 40 << 30, 76 << 30)


def clean(trace):
    loop(trace, 60 << 30, 70 << 30)


def cannot_tell(trace):
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.kernel("gemm", 10, 900, launched=(1, 5))


def cannot_tell_capacity(trace):
    loop(trace, 75 << 30, 76 << 30, None)
