from __future__ import annotations


def _steps(trace):
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 2_000_000, 2_000_000)
        yield number * 2_000_000


def _launches(trace, start, *, slow=(), dur=150_000, call=120_000, kernel=40_000, name="gemm"):
    for number in range(12):
        ts = start + number * 160_000
        launched = (ts + 2_000, call if number in slow else 5_000)
        trace.kernel(name, launched[0] + launched[1] + 3_000 if kernel < dur else ts, kernel, launched=launched)


def found(trace):
    """Some launches take 120 us."""
    for start in _steps(trace):
        _launches(trace, start, slow=(3, 6, 9))


def clean_all_alike(trace):
    """All take 60 us: that is how this profiler slows them down."""
    for start in _steps(trace):
        _launches(trace, start, slow=range(12), call=60_000)


def clean_busy(trace):
    """The launch is slow while the GPU works."""
    for start in _steps(trace):
        for number in range(12):
            ts = start + number * 160_000
            trace.kernel("gemm", ts + 10_000, 158_000, launched=(ts + 2_000, 5_000))
            if number in (3, 6):
                trace.kernel("add", ts + 168_000, 1_000, launched=(ts + 20_000, 120_000), stream=8)


def clean_graph(trace):
    """A graph takes longer to launch."""
    for start in _steps(trace):
        _launches(trace, start)
        trace.call("cudaGraphLaunch", start + 1_925_000, 50_000, 77_000 + start)
        trace.gpu("kernel", "gemm", start + 1_980_000, 15_000, correlation_id=77_000 + start)


def cannot_tell(trace):
    """The launching calls were not traced."""
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, 300_000)
