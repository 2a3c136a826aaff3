from __future__ import annotations


def steps(trace, name="log", every=1, length=400):
    for step in range(4):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts + 10, 500)
        if step % every == 0:
            trace.annotation(name, ts + 550, length)
            trace.op("aten::histc", ts + 560, 100)


def found(trace):
    """A line of a log in each step, with the operators that make its numbers."""
    steps(trace)


def found_now_and_then(trace):
    """A checkpoint in one of four steps."""
    steps(trace, "save_checkpoint", every=4)


def found_in_a_function(trace):
    """A function of the program that prints."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::mm", ts + 10, 500)
        trace.cpu("python", "train.py(70): print_losses", ts + 550, 400)


def clean(trace):
    """A range whose name only begins as those do."""
    steps(trace, "log_prob")


def clean_short(trace):
    """Next to nothing of a step."""
    steps(trace, length=5)


def clean_checkpoint_of_activations(trace):
    """It is a way to compute, and saves nothing."""
    steps(trace, "activation_checkpoint")
