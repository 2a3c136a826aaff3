from __future__ import annotations

import json


def steps(trace, elements=100, number=8, *, shapes=True):
    args = {"Input Dims": [[elements]], "Input type": ["float"]} if shapes else {}
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts + 10, 190)
        for each in range(number):
            trace.annotation("gloo:all_reduce", ts + 200 + 90 * each, 85, thread=1, args=json.dumps(args))


def found(trace):
    """Eight collectives of 400 bytes, one after the other."""
    steps(trace)


def clean(trace):
    """As many, of 25 MB each: one buffer does not hold them."""
    steps(trace, elements=6_250_000)


def clean_few(trace):
    """The buckets of DistributedDataParallel."""
    steps(trace, number=2)


def clean_beside(trace):
    """The training thread computes meanwhile."""
    steps(trace)
    for step in range(3):
        trace.op("aten::mm", 1000 * step + 200, 750)


def cannot_tell(trace):
    """No sizes."""
    steps(trace, shapes=False)
