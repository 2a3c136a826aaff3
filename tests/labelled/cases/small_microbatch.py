from __future__ import annotations


def loop(trace, micro_batches, kernel, names=("forward", "backward", "optimizer")):
    """Ten launches of 50 µs a pass, of kernels of `kernel` ns."""
    at = 0
    for step in range(3):
        passes = [*names[:2]] * micro_batches + [names[2]]
        trace.annotation(f"ProfilerStep#{step}", at, 500_000 * len(passes))
        for name in passes:
            trace.annotation(name, at, 500_000)
            for number in range(10):
                ts = at + 50_000 * number
                trace.op("aten::add", ts, 50_000)
                trace.kernel("add", ts + 49_900 - kernel, kernel, launched=(max(ts, ts + 44_900 - kernel), 5_000))
            at += 500_000


def found(trace):
    """Four micro-batches of kernels that are done long before the next is launched."""
    loop(trace, 4, 5_000)


def found_with_room(trace):
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=80 << 30)
    for name in ("memory_allocated", "memory_reserved"):
        trace.add("counter", device=0, name=name, unit="bytes", ts=10, value=float(8 << 30))
    loop(trace, 4, 5_000)


def clean(trace):
    """One micro-batch."""
    loop(trace, 1, 5_000)


def clean_busy(trace):
    """Four, with kernels that keep the GPU busy."""
    loop(trace, 4, 44_900)


def clean_full(trace):
    """Four, and no memory for larger ones."""
    trace.add("device", device=0, name="GPU", source="trace", memory_bytes=80 << 30)
    for name in ("memory_allocated", "memory_reserved"):
        trace.add("counter", device=0, name=name, unit="bytes", ts=10, value=float(70 << 30))
    loop(trace, 4, 5_000)


def cannot_tell(trace):
    """Nothing says what is forward and what backward."""
    loop(trace, 4, 5_000, ("first", "second", "third"))
