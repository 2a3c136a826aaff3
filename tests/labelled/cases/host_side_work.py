from __future__ import annotations

import json


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


def clean_in_the_forward_pass(trace):
    """Scores of attention, padding and metrics of the model's own are the model."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("forward", ts + 10, 500)
        for number, name in enumerate(("attention_scores", "accuracy")):
            trace.annotation(name, ts + 20 + 150 * number, 140)
            trace.op("aten::bmm", ts + 25 + 150 * number, 130)
        trace.cpu("python", "timm/layers/padding.py(40): pad_same", ts + 330, 100)
        trace.op("aten::constant_pad_nd", ts + 335, 80)
        trace.op("autograd::engine::evaluate_function: MmBackward0", ts + 520, 450)


def clean_named_for_the_model(trace):
    """A small model, most of which is Python."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        for number, name in enumerate(("model", "compute_loss")):
            trace.annotation(name, ts + 10 + 200 * number, 190)
            trace.op("aten::addmm", ts + 20 + 200 * number, 50)
        trace.op("autograd::engine::evaluate_function: MmBackward0", ts + 420, 500)


def clean_undone_by_a_backward_pass(trace):
    """Numbers of autograd's graph: what runs in the range is what the backward pass undoes."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("rewards", ts + 10, 400)
        for number in (0, 1):
            args = json.dumps({"Sequence number": 2 * step + number})
            trace.op("aten::mul", ts + 20 + 100 * number, 50, args=args)
            trace.op("autograd::engine::evaluate_function: MulBackward0", ts + 700 - 200 * number, 190, args=args)


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
