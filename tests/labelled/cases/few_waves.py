from __future__ import annotations

from labelled.gpu_work import ADD, GEMM, a100, kernel, run


def _kernel(name, dur, blocks, **limits):
    geometry = {"grid_x": blocks, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    return kernel(name, dur, **geometry, **({"registers_per_thread": 32, "shared_memory": 0} | limits))


def found(trace):
    """27 blocks for 108 multiprocessors."""
    a100(trace)
    run(trace, _kernel("stencil(float*, int)", 200_000, 27))


def found_tail(trace):
    """A second wave for a few blocks."""
    a100(trace)
    run(trace, _kernel(GEMM, 200_000, 230, registers_per_thread=255))


def clean_many(trace):
    a100(trace)
    run(trace, _kernel(ADD, 200_000, 8192), _kernel(GEMM, 200_000, 216, registers_per_thread=255))


def clean_tail_of_elementwise(trace):
    """Blocks of a kernel that memory limits do not end together."""
    a100(trace)
    run(trace, _kernel(ADD, 200_000, 1800))


def clean_short(trace):
    a100(trace)
    run(trace, *[_kernel("stencil(float*, int)", 8_000, 27)] * 20)


def cannot_tell(trace):
    """A GPU that is not described."""
    run(trace, _kernel("stencil(float*, int)", 200_000, 27))
