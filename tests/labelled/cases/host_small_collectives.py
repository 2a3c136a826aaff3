from __future__ import annotations

import json


def shape(elements):
    return json.dumps({"Input Dims": [[elements]], "Input type": ["float"]})


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


def clean_a_bucket_and_scalars(trace):
    """Five numbers beside one bucket of 20 MB, which takes nearly all of the time."""
    for step in range(3):
        ts = 100_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 100_000)
        trace.op("aten::mm", ts + 10, 30_000)
        trace.annotation("gloo:all_reduce", ts + 31_000, 60_000, thread=1, args=shape(5_000_000))
        for number in range(5):
            trace.annotation("gloo:all_reduce", ts + 92_000 + 300 * number, 150, thread=1, args=shape(1))


def clean_beside(trace):
    """The training thread computes meanwhile."""
    steps(trace)
    for step in range(3):
        trace.op("aten::mm", 1000 * step + 200, 750)


def cannot_tell(trace):
    """No sizes."""
    steps(trace, shapes=False)
