from __future__ import annotations

from labelled.cases.item_read import loop


def found(trace):
    """The call takes long to return."""
    loop(trace)


def clean(trace):
    """It returns before the GPU runs dry."""
    loop(trace, lag=150_000, wait=3_000)


def cannot_tell(trace):
    """No call is in the trace."""
    trace.kernel("gemm", 0, 100)
