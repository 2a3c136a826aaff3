from __future__ import annotations

from labelled.cases.host_graph_break import compiled
from labelled.cases.host_graph_break import graph_break as broken


def steps(trace, between=400, busy=100):
    """Two graphs of one kernel with Python between them."""
    for step in range(4):
        ts = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", ts, 1000)
        trace.op("Torch-Compiled Region: 0/0", ts + 10, 980)
        trace.op("## Call CompiledFxGraph fa ##", ts + 20, 100)
        trace.kernel("triton_a", ts + 130, busy, launched=(ts + 100, 10))
        trace.cpu("python", "model.py(14): show", ts + 200, between - 20)
        trace.op("TorchDynamo Cache Lookup", ts + 190 + between, 10)
        trace.op("Torch-Compiled Region: 1/0", ts + 210 + between, 150)
        trace.op("## Call CompiledFxGraph fb ##", ts + 220 + between, 130)
        trace.kernel("triton_b", ts + 300 + between, 100, launched=(ts + 270 + between, 10))


def found(trace):
    """The GPU waits for the line between."""
    steps(trace)
    compiled(trace)
    broken(trace)


def clean_without_a_log(trace):
    """Nothing names the line."""
    steps(trace)


def clean_hidden(trace):
    """The GPU has enough to do meanwhile."""
    steps(trace, busy=560)
    compiled(trace)
    broken(trace)


def cannot_tell(trace):
    """No GPU."""
    trace.op("aten::mm", 0, 10)
