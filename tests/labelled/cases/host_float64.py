from __future__ import annotations

import json


def steps(trace, kind="double", dims=(256, 256), length=900_000):
    args = {"Input type": [kind, kind], "Input Dims": [list(dims), list(dims)]}
    for step in range(3):
        ts = 1_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        trace.op("aten::mm", ts + 10, length, args=json.dumps(args))


def found(trace):
    """Matrices of double precision."""
    steps(trace)


def clean(trace):
    """The same in single precision."""
    steps(trace, "float")


def clean_numbers(trace):
    """A number of Python is a tensor of double without dimensions."""
    steps(trace, dims=())


def clean_short(trace):
    """Calling an operator takes as long in any precision."""
    steps(trace, length=9_000)


def cannot_tell(trace):
    """No types."""
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.op("aten::mm", 1000 * step + 10, 900)
