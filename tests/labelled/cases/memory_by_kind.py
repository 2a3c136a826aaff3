from __future__ import annotations

from labelled.memory_history import events

STEP = "1 alloc 1 100 init\n2 alloc 2 200 forward\n3 alloc 3 100 accumulate\n4 gone 2 200 backward\n5 alloc 4 200 optimizer"


def found(trace):
    """Parameters, what the forward keeps, and gradients are a quarter or a half each at the peak."""
    events(trace, STEP)


def found_in_a_job(trace):
    """Eight ranks could share what each of them holds."""
    trace.add("trace", producer="tests", rank=0, world_size=8)
    found(trace)


def clean_one_kind(trace):
    """Nearly all is what the forward keeps."""
    events(trace, "1 alloc 1 10 init\n2 alloc 2 2000 forward\n3 gone 2 2000 backward")


def clean_no_training(trace):
    """Nothing is trained."""
    events(trace, "1 alloc 1 100 init\n2 alloc 2 200 forward\n3 gone 2 200 main")


def cannot_tell(trace):
    """Most stacks say nothing."""
    events(trace, "1 alloc 1 900 main\n2 alloc 2 200 forward\n3 alloc 3 200 init\n4 gone 2 200 backward")


def cannot_tell_without_snapshot(trace):
    trace.kernel("gemm", 10, 20, launched=(2, 5))
