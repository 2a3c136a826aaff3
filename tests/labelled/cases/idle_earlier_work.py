from __future__ import annotations


def _step(trace, before, launched):
    trace.annotation("ProfilerStep#1", 0, 20_000_000)
    trace.kernel("first", before, 5_000_000, launched=(launched, 5_000))


def found(trace):
    """Launched at 1 ms, it starts at 8 ms: the queue was full."""
    _step(trace, 8_000_000, 1_000_000)


def clean(trace):
    """It starts when it is launched."""
    _step(trace, 8_000_000, 7_990_000)


def cannot_tell(trace):
    """No GPU work."""
    trace.annotation("ProfilerStep#1", 0, 20_000_000)
