from __future__ import annotations

from labelled.cases.host_recompilation import compilation, guard, log

_COMPILE = "_compile.compile_inner (dynamo_timed)"


def _steps(trace, compiles, name=_COMPILE, kind="annotation", busy=300_000):
    for number in range(5):
        start = number * 1_000_000
        trace.annotation(f"ProfilerStep#{number}", start, 1_000_000)
        trace.kernel("gemm", start + 20_000, busy, launched=(start + 5_000, 5_000))
        if number in compiles:
            trace.cpu(kind, name, start + 330_000, 600_000)
        trace.kernel("gemm", start + 950_000, 40_000, launched=(start + 940_000, 5_000))


def found_every_other(trace):
    """Two steps compile."""
    _steps(trace, (1, 3))


def found_late(trace):
    """One step compiles, long after the first."""
    _steps(trace, (3,))


def found_frame(trace):
    """Frames say so."""
    _steps(trace, (2, 3), "torch/_dynamo/convert_frame.py(520): _compile", "python")


def clean_first(trace):
    """The first step compiles, as it should."""
    _steps(trace, (0,))


def clean_hidden(trace):
    """The GPU has enough to do meanwhile."""
    _steps(trace, (1, 3), busy=925_000)


def clean_runs(trace):
    """The running of compiled code is none."""
    _steps(trace, (1, 3), "Torch-Compiled Region: 0/0")


def clean_loads(trace):
    """Loading of code is another rule's."""
    _steps(trace, (1, 3), "cuModuleLoadData", "runtime")


def cannot_tell(trace):
    """One step in all."""
    trace.kernel("gemm", 10_000, 100_000, launched=(5_000, 3_000))
    trace.annotation(_COMPILE, 120_000, 600_000)
    trace.kernel("gemm", 750_000, 100_000, launched=(735_000, 3_000))


def found_with_a_log(trace):
    """The log names the guard."""
    found_every_other(trace)
    log(trace)
    for version, start in ((1, 1_000_000), (2, 3_000_000)):
        compilation(trace, version, start + 120_000, dur=600_000)
        guard(trace, version)
