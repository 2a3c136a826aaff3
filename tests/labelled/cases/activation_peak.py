from __future__ import annotations

from labelled.memory_history import events


def found(trace):
    """Two thirds are kept for the backward."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 forward\n3 gone 2 200 backward")


def found_without_training(trace):
    """No backward frees what the forward kept."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 forward\n3 gone 2 200 main")


def clean(trace):
    """As much, freed before the forward ends."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 forward\n3 gone 2 200 inner\n4 alloc 3 1 backward")


def clean_model(trace):
    """Parameters are more."""
    events(trace, "1 alloc 1 300 init\n2 alloc 2 200 forward\n3 gone 2 200 backward")


def cannot_tell(trace):
    """Most stacks say nothing."""
    events(trace, "1 alloc 1 300 main\n2 alloc 2 200 forward")


def cannot_tell_without_snapshot(trace):
    trace.kernel("gemm", 10, 20, launched=(2, 5))


def cannot_tell_cache(trace):
    """A cache of keys and values is kept by a forward, too, and never released."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 forward")
