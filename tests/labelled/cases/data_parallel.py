from __future__ import annotations


def steps(trace, outer="DataParallel.forward", devices=2):
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.annotation(outer, start + 10, 700)
        trace.op("Broadcast" if outer == "DataParallel.forward" else "clone", start + 20, 400)
        for device in range(devices):
            trace.kernel("gemm", start + 500 + device, 300, launched=(start + 450 + 5 * device, 4), device=device)


def found(trace):
    """The model is replicated before each step's first kernel."""
    steps(trace)


def clean(trace):
    """Something else takes as long."""
    steps(trace, "forward")


def clean_one_device(trace):
    """DataParallel with one GPU just calls the model."""
    steps(trace, devices=1)


def cannot_tell(trace):
    """No range and no operator."""
    for start in (0, 1000, 2000):
        for device in range(2):
            trace.kernel("gemm", start + 500, 300, launched=(start + 450 + 5 * device, 4), device=device)
