from __future__ import annotations

NODE = "autograd::engine::evaluate_function: "


def steps(trace, asks="after", asked=10, stack=50_000):
    for step in range(3):
        ts = 2_000_000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 2_000_000)
        for number in range(10):
            start, numbered = ts + 10 + 70_000 * number, f'{{"Sequence number":{10 * step + number}}}'
            trace.op("aten::view" if number % 2 else "aten::mm", start, 4_000 + stack, args=numbered)
            start = ts + 1_000_000 + 70_000 * number
            trace.op(f"{NODE}MulBackward0", start, 60_000, args=numbered)
            before = asks == "before" and number < asked
            if before:
                check(trace, start + 1_000)
            trace.op("MulBackward0", start + 30_000, 10_000)
            if asks == "after" and number < asked:
                check(trace, start + 41_000)
        if asks == "once":
            check(trace, ts + 1_800_000)


def check(trace, ts):
    trace.op("aten::isnan", ts, 8_000)
    trace.op("aten::_is_any_true", ts + 8_100, 6_000)
    trace.op("aten::item", ts + 14_200, 500)


def found(trace):
    """Each gradient is asked for NaN, and each operator of the forward pass writes down its stack."""
    steps(trace)


def found_without_stacks(trace):
    """The checks are all that there is to see."""
    steps(trace, stack=0)


def clean(trace):
    """The program asks its loss once a step."""
    steps(trace, asks="once")


def clean_hooks_of_tensors(trace):
    """Hooks ask gradients before the function that takes them."""
    steps(trace, asks="before")


def clean_of_one_function(trace):
    """A function of the program asks in its own backward pass."""
    steps(trace, asked=1)


def clean_off(trace):
    """Long operators alone."""
    steps(trace, asks="never")


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
