from __future__ import annotations


def loop(trace, peak, late, capacity=80 << 30, series=("memory_allocated", "memory_reserved")):
    """Kernels of 10 µs, each launched `late` ns after the one before has ended."""

    def sample(ts, value):
        for name in series:
            trace.add("counter", device=0, name=name, unit="bytes", ts=ts, value=float(value))

    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=capacity)
    sample(0, 1 << 30)
    at = 0
    for step in range(3):
        dur = 10 * (10_000 + late)
        trace.annotation(f"ProfilerStep#{step}", at, dur)
        for _ in range(10):
            trace.op("aten::add", at, late)
            trace.kernel("add", at + late, 10_000, launched=(at, late))
            at += 10_000 + late
        for ts, value in ((at - dur // 2, peak), (at - 100, 1 << 30)):
            sample(ts, value)


def found(trace):
    loop(trace, 9 << 30, 10_000)


def clean(trace):
    """As free, and busy."""
    loop(trace, 9 << 30, 500)


def clean_used(trace):
    loop(trace, 60 << 30, 10_000)


def cannot_tell(trace):
    """Where nothing is reserved, as under nsys, the samples are changes since the capture began."""
    loop(trace, 9 << 30, 10_000, series=("memory_allocated",))


def cannot_tell_capacity(trace):
    loop(trace, 9 << 30, 10_000, None)
