from __future__ import annotations

from labelled.gpu_work import a100


def _steps(trace, length=900):
    for step in range(3):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("aten::conv2d", ts + 10, length)


def found(trace):
    """Operators compute on the CPU, and the trace lists a GPU."""
    a100(trace)
    _steps(trace)


def clean_without_a_gpu(trace):
    _steps(trace)


def clean_of_other_work(trace):
    """Operators take a small part of the time."""
    a100(trace)
    _steps(trace, 100)


def cannot_tell(trace):
    """No operators."""
    a100(trace)
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
