from __future__ import annotations


def steps(trace, reads=40, between=0, name="metrics"):
    for step in range(3):
        ts = 10_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 10_000)
        trace.op("aten::mm", ts + 10, 4000)
        trace.annotation(name, ts + 4100, 5000)
        for read in range(reads):
            start = ts + 4110 + read * (4900 // reads)
            trace.op("aten::select", start, 5)
            for number in range(between):
                trace.op("aten::mul", start + 10 + 5 * number, 4)
            trace.op("aten::item", start + 90, 5)


def found(trace):
    """The results of a batch are read one by one."""
    steps(trace)


def found_with_work_between(trace):
    """Each of them is computed with."""
    steps(trace, between=3)


def found_with_its_backward_pass(trace):
    """Rows are picked one by one: a small part of the forward pass, a larger one of the backward pass."""
    for step in range(3):
        ts, node = 1_000_000 * step, "autograd::engine::evaluate_function: "
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        trace.op("aten::mm", ts + 10, 600_000)
        for number in range(20):
            numbered = f'{{"Sequence number":{20 * step + number}}}'
            trace.op("aten::select", ts + 610_000 + 100 * number, 50, args=numbered)
            trace.op(f"{node}SelectBackward0", ts + 900_000 - 10_000 * number, 9_000, args=numbered)


def clean_backward_pass_of_others(trace):
    """The same nodes were added by the model, whose operators look at no elements."""
    for step in range(3):
        ts, node = 1_000_000 * step, "autograd::engine::evaluate_function: "
        trace.annotation(f"ProfilerStep#{step}", ts, 1_000_000)
        for number in range(20):
            numbered = f'{{"Sequence number":{20 * step + number}}}'
            trace.op("aten::mul", ts + 10 + 25_000 * number, 20_000, args=numbered)
            trace.op("aten::select", ts + 610_000 + 100 * number, 50)
            trace.op(f"{node}MulBackward0", ts + 900_000 - 10_000 * number, 9_000, args=numbered)


def clean(trace):
    """A loss and some metrics are read."""
    steps(trace, reads=4)


def clean_of_an_optimizer(trace):
    """An optimizer reads the number of its step for each parameter."""
    steps(trace, name="Optimizer.step#AdamW.step")


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
