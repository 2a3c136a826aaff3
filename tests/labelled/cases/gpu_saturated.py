from __future__ import annotations


def loop(trace, busy, **geometry):
    for step in range(3):
        start = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", start, 1000)
        trace.kernel("gemm", start + 10, busy, launched=(start + 1, 5), **geometry)


def found(trace):
    """Nothing to wait for; how far the kernels fill the GPU is not known."""
    loop(trace, 980)


def found_full_kernels(trace):
    trace.add("device", device=0, name="GPU", source="trace", sm_count=10, compute_capability="8.0")
    loop(trace, 980, grid_x=1000, grid_y=1, grid_z=1, block_x=128, block_y=1, block_z=1)


def clean(trace):
    """Busy as well, but one block a kernel: a larger batch has the rest of the GPU for nothing."""
    trace.add("device", device=0, name="GPU", source="trace", sm_count=10, compute_capability="8.0")
    loop(trace, 980, grid_x=1, grid_y=1, grid_z=1, block_x=128, block_y=1, block_z=1)


def clean_waits(trace):
    loop(trace, 850)


def cannot_tell(trace):
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.op("aten::mm", 0, 1000)
