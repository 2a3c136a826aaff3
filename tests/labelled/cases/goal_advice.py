from __future__ import annotations


def loop(trace, late, busy=10_000, **geometry):
    """Twenty kernels a step of `busy` ns, each launched `late` ns after the one before has ended."""
    at = 0
    for step in range(4):
        trace.annotation(f"ProfilerStep#{step}", at, 20 * (busy + late))
        for _ in range(20):
            trace.op("aten::add", at, late)
            trace.kernel("ampere_sgemm_128x64", at + late, busy, launched=(at, late), **geometry)
            at += busy + late


def reduce(trace, phase, exposed, start):
    trace.annotation(phase, start, 500)
    trace.kernel("gemm", start + 20, 100, launched=(start + 1, 5))
    trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 120, exposed, launched=(start + 10, 5))


def found_launch_bound(trace):
    """A larger batch, and fewer launches."""
    loop(trace, 10_000)


def found_tensor_parallel(trace):
    """Reductions inside the forward pass take most of the step."""
    for step in range(4):
        trace.annotation(f"ProfilerStep#{step}", 2000 * step, 2000)
        for number, phase in enumerate(("forward", "forward", "backward", "backward")):
            reduce(trace, phase, 350, 2000 * step + 500 * number)


def found_gradients(trace):
    """Gradients are exchanged in the open."""
    for step in range(4):
        trace.annotation(f"ProfilerStep#{step}", 1000 * step, 1000)
        trace.annotation("forward", 1000 * step, 400)
        trace.kernel("gemm", 1000 * step + 20, 390, launched=(1000 * step + 1, 5))
        reduce(trace, "backward", 370, 1000 * step + 500)


def clean(trace):
    """Kernels that follow on one another."""
    loop(trace, 500)


def clean_compute_bound(trace):
    """Nothing to trade: faster kernels are what findings are about."""
    trace.add("device", device=0, name="GPU", source="trace", sm_count=10, compute_capability="8.0")
    loop(trace, 300, 20_000, grid_x=1000, grid_y=1, grid_z=1, block_x=128, block_y=1, block_z=1)


def cannot_tell(trace):
    trace.op("aten::mm", 0, 1000)
    trace.kernel("gemm", 500, 400, launched=(490, 5))


def clean_server(trace):
    """The knobs of a server are others."""
    for step in range(4):
        trace.annotation("step[DECODE bs=8]", 1000 * step, 1000)
        for kernel in range(5):
            at = 1000 * step + 200 * kernel
            trace.kernel("gemm", at + 100, 90, launched=(at + 90, 5))
