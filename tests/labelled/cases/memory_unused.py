from __future__ import annotations


def loop(trace, peak, late, capacity=80 << 30):
    """Kernels of 10 µs, each launched `late` ns after the one before has ended."""
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=capacity)
    trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=0, value=float(1 << 30))
    at = 0
    for step in range(3):
        dur = 10 * (10_000 + late)
        trace.annotation(f"ProfilerStep#{step}", at, dur)
        for _ in range(10):
            trace.op("aten::add", at, late)
            trace.kernel("add", at + late, 10_000, launched=(at, late))
            at += 10_000 + late
        for ts, value in ((at - dur // 2, peak), (at - 100, 1 << 30)):
            trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=ts, value=float(value))


def found(trace):
    loop(trace, 9 << 30, 10_000)


def clean(trace):
    """As free, and busy."""
    loop(trace, 9 << 30, 500)


def clean_used(trace):
    loop(trace, 60 << 30, 10_000)


def cannot_tell(trace):
    """nsys tells changes since the capture began."""
    trace.NAME = "nsys"
    loop(trace, 9 << 30, 10_000)


def cannot_tell_capacity(trace):
    loop(trace, 9 << 30, 10_000, None)
