from __future__ import annotations


def steps(trace, name="tokenize", length=400, operators=0):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation(name, ts + 10, length)
        if operators:
            trace.op("aten::sub", ts + 15, operators)
        trace.op("aten::mm", ts + 10 + length, 980 - length)


def found(trace):
    """A range that is named for preparing input."""
    steps(trace)


def found_with_operators(trace):
    """One that is named for measuring, most of it operators."""
    steps(trace, "accuracy", operators=380)


def found_by_what_it_does(trace):
    """Its name says nothing, and most of it is in no operator."""
    steps(trace, "rewards")


def clean(trace):
    """A range of the model: operators are most of it."""
    steps(trace, "encoder", operators=350)


def clean_around_all(trace):
    """A range around the whole step is the step."""
    steps(trace, "round", length=950)


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
