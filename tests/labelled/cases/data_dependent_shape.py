from __future__ import annotations

from labelled.cases.item_read import loop


def found(trace):
    """values[mask]."""
    loop(trace, ("aten::index", "aten::nonzero"), copied=8)


def found_repeats(trace):
    """The value read is a size."""
    loop(trace, ("aten::repeat_interleave", "aten::item", "aten::_local_scalar_dense"))


def clean(trace):
    """A value is read, not a size."""
    loop(trace, ("aten::item", "aten::_local_scalar_dense"))


def clean_harmless(trace):
    """The GPU has work for long after."""
    loop(trace, ("aten::nonzero",), copied=0, lag=150_000, wait=3_000)


def cannot_tell(trace):
    """No launching call is in the trace."""
    trace.kernel("gemm", 0, 100)
