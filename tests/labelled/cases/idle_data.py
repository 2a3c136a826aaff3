from __future__ import annotations

from labelled.cases.synchronous_loader import loop


def found(trace):
    """A fetch of whatever kind."""
    loop(trace, "traceq.fetch#train", 500_000)


def clean(trace):
    """The GPU has work meanwhile."""
    loop(trace, "traceq.fetch#train", 999_500)


def cannot_tell(trace):
    """Nothing names fetching."""
    loop(trace, "something", 500_000)
