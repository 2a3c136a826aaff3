from __future__ import annotations

UPDATE = ("aten::mul_", "aten::lerp_", "aten::sqrt", "aten::addcdiv_")


def steps(trace, parameters=20, names=UPDATE, around="Optimizer.step#AdamW.step"):
    for step in range(3):
        ts = 10_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 10_000)
        trace.op("aten::mm", ts + 10, 3000)
        trace.annotation(around, ts + 3100, 6000)
        for parameter in range(parameters):
            for number, name in enumerate(names):
                trace.op(name, ts + 3110 + parameter * (5900 // parameters) + 60 * number, 40)


def found(trace):
    """Four operators for each of twenty parameters."""
    steps(trace)


def clean(trace):
    """One operator for all parameters, for each of a few groups."""
    steps(trace, parameters=4)


def clean_foreach(trace):
    """Many groups, each with operators that take many parameters."""
    steps(
        trace, names=("aten::_foreach_mul_", "aten::_foreach_lerp_", "aten::_foreach_sqrt", "aten::_foreach_addcdiv_")
    )


def clean_clearing(trace):
    """Gradients are cleared one by one."""
    steps(trace, around="Optimizer.zero_grad#AdamW.zero_grad")


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
