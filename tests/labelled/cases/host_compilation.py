from __future__ import annotations

from labelled.cases.host_recompilation import compilation, log, steps


def look(trace, outcome, version=0):
    trace.add("compile_cache", log_id=0, compile_id=f"0/{version}", cache="fx_graph", outcome=outcome)


def found(trace):
    """The first step compiles what no cache has."""
    steps(trace, compiling=(0,))
    log(trace)
    compilation(trace, 0, 100)
    look(trace, "miss")


def found_with_caches_off(trace):
    steps(trace, compiling=(0,))
    log(trace)
    compilation(trace, 0, 100)


def found_with_a_filled_cache(trace):
    """Tracing remains, which running before the steps moves away."""
    steps(trace, compiling=(0,))
    log(trace)
    compilation(trace, 0, 100)
    look(trace, "hit")


def found_without_a_log(trace):
    steps(trace, compiling=(0,))


def clean_later_version(trace):
    """Compile a later version of a function, which is another rule's: a recompilation."""
    steps(trace, compiling=(2,))
    log(trace)
    compilation(trace, 1, 2100)


def clean(trace):
    """Compiled code runs."""
    steps(trace, compiling=())
    for step in range(4):
        trace.op("Torch-Compiled Region: 0/0", 1000 * step + 200, 300)


def cannot_tell(trace):
    """It launches work of a GPU that was not captured."""
    for step in range(3):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.call("cudaLaunchKernel", 1000 * step + 10, 20)
