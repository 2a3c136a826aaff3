from __future__ import annotations


def steps(trace, length=900, thread=0):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::conv2d", ts + 10, length, thread=thread)


def found(trace):
    steps(trace)


def found_on_another_thread(trace):
    """The training thread waits while the thread of autograd computes."""
    for step in range(3):
        trace.op("aten::mm", 1000 * step + 950, 20)
    steps(trace, thread=1)


def found_of_an_optimizer(trace):
    """Many short operators, most of them the optimizer's."""
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.annotation("Optimizer.step#Adam.step", ts + 10, 980)
        for number in range(9):
            trace.op("aten::mul_", ts + 20 + 100 * number, 90)


def clean(trace):
    """Next to nothing of the step is in operators."""
    steps(trace, 10)


def clean_with_a_gpu(trace):
    steps(trace)
    trace.kernel("gemm", 100, 850, launched=(15, 5))


def cannot_tell(trace):
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
