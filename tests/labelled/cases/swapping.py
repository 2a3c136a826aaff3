from __future__ import annotations

from labelled.cases.cpu_starved import TIMES, _loop
from labelled.monitors import host


def found(trace):
    """40 MB/s come back from swap."""
    _loop(trace)
    host(trace, TIMES, swap_in=40e6)


def clean(trace):
    """A page now and then, and what is written to swap is not waited for."""
    _loop(trace)
    host(trace, TIMES, swap_in=20_000, swap_out=80e6)


def cannot_tell(trace):
    """No log."""
    _loop(trace)
