from __future__ import annotations


def steps(trace, copies):
    for number, start in enumerate((0, 1000, 2000)):
        trace.annotation(f"ProfilerStep#{number}", start, 1000)
        trace.kernel("gemm", start + 20, 380, launched=(start + 1, 5))
        trace.op("c10d::allreduce_", start + 390, 500)
        trace.annotation("gloo:all_reduce", start + 400, 480)
        if copies:
            trace.memcpy("d2h", start + 420, 100, launched=(start + 395, 4), src_memory="device", dst_memory="pinned")
            trace.memcpy("h2d", start + 800, 80, launched=(start + 790, 4), src_memory="pinned", dst_memory="device")
        trace.kernel("adam", start + 930, 40, launched=(start + 900, 4))


def found(trace):
    """Gradients are copied to the host, reduced there, and copied back."""
    steps(trace, copies=True)


def clean(trace):
    """Tensors of the host: nothing is copied."""
    steps(trace, copies=False)


def cannot_tell(trace):
    """No range and no operator."""
    for start in (0, 1000, 2000):
        trace.kernel("gemm", start + 20, 380, launched=(start + 1, 5))
