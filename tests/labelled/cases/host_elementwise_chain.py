from __future__ import annotations

import json


def steps(trace, names=("aten::mul", "aten::add", "aten::tanh", "aten::clamp"), length=200_000, around="augment"):
    for step in range(3):
        ts = 1_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        trace.annotation(around, ts + 10, 900_000)
        for number, name in enumerate(names):
            trace.op(name, ts + 20 + 220_000 * number, length)


def found(trace):
    """Four passes over the same tensor."""
    steps(trace)


def clean(trace):
    """Matrix products between them."""
    steps(trace, ("aten::mul", "aten::mm", "aten::add", "aten::mm"))


def clean_short(trace):
    """Calling them is what takes the time."""
    steps(trace, length=10_000)


def clean_of_other_tensors(trace):
    """Each is of another shape: no pass over one tensor does them all."""
    for step in range(3):
        ts = 1_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        for number, name in enumerate(("aten::mul", "aten::add", "aten::tanh", "aten::clamp")):
            args = json.dumps({"Input Dims": [[64, 1000 * (number + 1)]]})
            trace.op(name, ts + 20 + 220_000 * number, 200_000, args=args)


def clean_of_an_optimizer(trace):
    """The update of one large parameter."""
    steps(trace, around="Optimizer.step#SGD.step")


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
