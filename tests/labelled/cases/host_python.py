from __future__ import annotations


def steps(trace, gap):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("train", ts, 990)
        trace.op("aten::mm", ts + gap, 990 - gap)


def found(trace):
    """Half of a step lies in a range, outside of operators."""
    steps(trace, 500)


def found_frames(trace):
    """Frames say what runs there."""
    steps(trace, 500)
    for step in range(3):
        trace.cpu("python", "train.py(12): metrics", 1000 * step + 10, 400)


def clean(trace):
    """Operators follow one another."""
    steps(trace, 5)


def clean_elsewhere(trace):
    """Another thread runs operators meanwhile."""
    steps(trace, 500)
    for step in range(3):
        trace.op("aten::mm", 1000 * step, 500, thread=1)


def clean_backward(trace):
    """The backward pass runs no Python: nobody knows what it waits for."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("## backward ##", ts, 500)
        trace.op("aten::mm", ts + 500, 500)


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
