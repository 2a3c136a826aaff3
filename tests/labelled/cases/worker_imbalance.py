from __future__ import annotations

from labelled.cases.too_few_workers import loop, worker


def found(trace):
    """One of three has all the work."""
    loop(trace)
    worker(trace, 1, 950_000)
    worker(trace, 2, 200_000)
    worker(trace, 3, 150_000)


def clean(trace):
    """All have too much."""
    loop(trace)
    worker(trace, 1, 950_000)
    worker(trace, 2, 900_000)


def clean_one_worker(trace):
    """There is but one."""
    loop(trace)
    worker(trace, 1, 950_000)


def cannot_tell(trace):
    """Workers are not in the trace."""
    loop(trace)
