from __future__ import annotations

from labelled.cases.host_recompilation import compilation, log

_COMPILE = "_compile.compile_inner (dynamo_timed)"


def found_once(trace):
    """A program that compiles while it runs."""
    trace.kernel("gemm", 10_000, 100_000, launched=(5_000, 3_000))
    trace.annotation(_COMPILE, 120_000, 600_000)
    trace.kernel("gemm", 750_000, 100_000, launched=(735_000, 3_000))


def found_load(trace):
    """One step of three loads code."""
    for start in (0, 1_000_000, 2_000_000):
        trace.annotation("outer", start, 1_000_000)
        trace.kernel("gemm", start + 10_000, 100_000, launched=(start + 5_000, 3_000))
        if start:
            trace.call("cuModuleLoadData", start + 120_000, 600_000)
        trace.kernel("gemm", start + 750_000, 100_000, launched=(start + 735_000, 3_000))


def clean(trace):
    """It runs what was compiled."""
    for start in (0, 1_000_000, 2_000_000):
        trace.annotation("outer", start, 1_000_000)
        trace.annotation("Torch-Compiled Region: 0/0", start, 900_000)
        trace.kernel("gemm", start + 10_000, 100_000, launched=(start + 5_000, 3_000))
        trace.kernel("gemm", start + 750_000, 100_000, launched=(start + 735_000, 3_000))


def cannot_tell(trace):
    """No GPU."""
    trace.annotation(_COMPILE, 120_000, 600_000)


def found_with_a_log(trace):
    """The log says that no cache had the graph."""
    found_once(trace)
    log(trace)
    compilation(trace, 0, 120_000, dur=600_000)
    trace.add("compile_cache", log_id=0, compile_id="0/0", cache="fx_graph", outcome="miss")
