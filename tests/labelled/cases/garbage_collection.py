from __future__ import annotations


def _steps(trace):
    for number in range(4):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _collects(trace, kind, name, busy=300_000):
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, busy, launched=(start + 5_000, 5_000))
        if start == 2_000_000:
            trace.cpu(kind, name, start + 400_000, 500_000)
        trace.kernel("gemm", start + 950_000, 40_000, launched=(start + 930_000, 5_000))


def found_event(trace):
    """PyTorch's profiler records collections."""
    _collects(trace, "python", "Python GC")


def found_call(trace):
    """The program collects."""
    _collects(trace, "python", "<built-in function collect>")


def found_range(trace):
    """Made by gc.callbacks."""
    _collects(trace, "annotation", "traceq.phase#gc")


def clean_hidden(trace):
    """The GPU has enough to do meanwhile."""
    _collects(trace, "python", "Python GC", busy=920_000)


def cannot_tell(trace):
    """Another frame with a similar name: collections themselves may not have been recorded."""
    _collects(trace, "python", "torch/distributed/gc_checkpoint.py(12): run")
