from __future__ import annotations

from labelled.memory_history import events


def found(trace):
    """Two states for each parameter."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 optimizer")


def found_in_a_job(trace):
    trace.add("trace", producer="tests", rank=0, world_size=8)
    found(trace)


def clean(trace):
    """As much, but only while the optimizer works."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 optimizer\n3 gone 2 200 zero")


def clean_small(trace):
    events(trace, "1 alloc 1 1000 init\n2 alloc 2 200 optimizer")


def cannot_tell(trace):
    trace.kernel("gemm", 10, 20, launched=(2, 5))
