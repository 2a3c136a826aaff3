from __future__ import annotations


def loop(trace, ends, steps=5):
    for step in range(steps):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        trace.kernel("gemm", start + 10, 900, launched=(start + 1, 5))
        for ts, value in ((100, 20 << 30), (900, ends(step))):
            trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=start + ts, value=float(value))
    # nothing is known before the first sample
    trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=-1000, value=float(ends(-1)))


def found(trace):
    """64 MiB stay behind each step."""
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=80 << 30)
    loop(trace, lambda step: (8 << 30) + (step << 26))


def clean(trace):
    """Up in one step, down in the next."""
    loop(trace, lambda step: (8 << 30) + ((step % 2) << 26))


def clean_small(trace):
    """A few bytes of statistics."""
    loop(trace, lambda step: (8 << 30) + 512 * step)


def cannot_tell(trace):
    loop(trace, lambda step: (8 << 30) + (step << 26), steps=2)
