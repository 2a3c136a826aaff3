from __future__ import annotations

from labelled.cases.allocator_in_step import cannot_tell as without_steps
from labelled.cases.allocator_in_step import loop


def found(trace):
    """Allocation without steps."""
    without_steps(trace)


def clean(trace):
    """The GPU has work meanwhile."""
    loop(trace, "cudaMalloc", kernel=995_000)


def cannot_tell(trace):
    """No call is in the trace."""
    trace.kernel("gemm", 0, 100)
