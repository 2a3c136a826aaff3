from __future__ import annotations


def steps(trace, number=250, length=8_000, between=2_000, around="cells"):
    total = number * (length + between)
    for step in range(3):
        ts = (total + 1000) * step
        trace.annotation(f"ProfilerStep#{step}", ts, total + 1000)
        trace.annotation(around, ts + 10, total + 900)
        for each in range(number):
            trace.op("aten::addmm", ts + 20 + each * (length + between), length)


def found(trace):
    """250 operators of 8 us."""
    steps(trace)


def clean(trace):
    """As many that compute for longer than calling them takes."""
    steps(trace, length=200_000, between=1_000)


def clean_few(trace):
    """As short, and few."""
    steps(trace, number=20)


def clean_of_an_optimizer(trace):
    """An optimizer has a rule of its own."""
    steps(trace, around="Optimizer.step#SGD.step")


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
