from __future__ import annotations

from labelled.gpu_work import GEMM, a100, kernel, run


def _kernel(name, **limits):
    geometry = {"grid_x": 8192, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    return kernel(name, 200_000, **geometry, **({"registers_per_thread": 32, "shared_memory": 0} | limits))


def found_registers(trace):
    a100(trace)
    run(trace, _kernel("stencil(float*, int)", registers_per_thread=255))


def found_shared_memory(trace):
    a100(trace)
    run(trace, _kernel("stencil(float*, int)", shared_memory=48 << 10))


def clean(trace):
    a100(trace)
    run(trace, _kernel("stencil(float*, int)"))


def clean_matmul(trace):
    """Matrix kernels are made to run with few warps."""
    a100(trace)
    run(trace, _kernel(GEMM, registers_per_thread=255))


def cannot_tell(trace):
    """A GPU that is not described."""
    run(trace, _kernel("stencil(float*, int)", registers_per_thread=255))
