from __future__ import annotations

from labelled.cases.allocator_in_step import cannot_tell as without_steps
from labelled.cases.allocator_in_step import loop


def found(trace):
    """A buffer is pinned in each step."""
    loop(trace, "cudaHostAlloc")


def found_register(trace):
    """And given back."""
    loop(trace, "cudaHostRegister", "cudaHostUnregister")


def clean(trace):
    """Memory of the device."""
    loop(trace, "cudaMalloc")


def clean_hidden(trace):
    """The GPU has work meanwhile."""
    loop(trace, "cudaHostAlloc", kernel=995_000)


def cannot_tell(trace):
    """No steps: it may be setting up."""
    without_steps(trace)
