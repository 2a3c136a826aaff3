from __future__ import annotations

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GEOMETRY = {"grid_x": 132, "grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1}


def steps(trace, alone, beside, geometry=GEOMETRY):
    """Per step five kernels that take `beside`, with communication there, then five that take `alone` in turn."""
    length = 5 * beside + sum(alone[place % len(alone)] for place in range(5, 10)) + 20_000
    for number in range(3):
        start = number * length
        trace.annotation(f"ProfilerStep#{number}", start, length)
        trace.call("cudaDeviceSynchronize", start + 10_000, length - 15_000)
        at = start + 10_000
        for place in range(10):
            dur = beside if place < 5 else alone[place % len(alone)]
            trace.kernel("gemm", at, dur, launched=(start + 100 * place + 1, 50), **geometry)
            at += dur
        trace.kernel(NAME, start + 10_000, 5 * beside, launched=(start + 2_000, 50), stream=20)


def found(trace):
    """Half as long again beside an all-reduce."""
    steps(trace, [100_000], 150_000)


def clean(trace):
    """As long as alone."""
    steps(trace, [100_000], 101_000)


def clean_varied(trace):
    """Kernels that vary alone as well do different work."""
    steps(trace, [60_000, 100_000, 160_000, 100_000, 100_000], 150_000)


def cannot_tell(trace):
    """Grids are not recorded."""
    steps(trace, [100_000], 150_000, {})
