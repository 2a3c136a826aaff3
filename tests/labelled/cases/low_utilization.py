from __future__ import annotations

MS = 1_000_000


def found_long_gaps(trace):
    """One wait of 6 ms a step."""
    for step in range(3):
        start = 10 * MS * step
        trace.annotation(f"ProfilerStep#{step}", start, 10 * MS)
        trace.kernel("gemm", start + 6 * MS, 4 * MS, launched=(start + 6 * MS - 5, 5))


def found_short_gaps(trace):
    """A hundred kernels a step, each launched late."""
    for step in range(3):
        start = 10 * MS * step
        trace.annotation(f"ProfilerStep#{step}", start, 10 * MS)
        for kernel in range(100):
            at = start + kernel * MS // 10
            trace.kernel("add", at + 80_000, 15_000, launched=(at, 10_000))


def clean(trace):
    """The same gap in a step that is twice as long."""
    for step in range(3):
        start = 20 * MS * step
        trace.annotation(f"ProfilerStep#{step}", start, 20 * MS)
        trace.kernel("gemm", start + 6 * MS, 14 * MS, launched=(start + 6 * MS - 5, 5))


def cannot_tell(trace):
    """Start-up is most of an unmarked trace."""
    trace.op("aten::mm", 0, 10 * MS)
    trace.kernel("gemm", 9 * MS, MS, launched=(8 * MS, 5))


def clean_earlier_work(trace):
    """The first work waits for what was launched before the capture."""
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 10 * MS * step, 10 * MS)
        trace.kernel("gemm", 40 * MS + 9 * MS * step, 9 * MS - 1000, launched=(10 * MS * step + 1000, 5000))
