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


def clean(trace):
    """A loss and some metrics are read."""
    steps(trace, reads=4)


def clean_of_an_optimizer(trace):
    """An optimizer reads the number of its step for each parameter."""
    steps(trace, name="Optimizer.step#AdamW.step")


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
