from __future__ import annotations

from labelled.gpu_work import a100, kernel, run


def _stencil(threads, blocks=4096):
    return kernel(
        "stencil(float*, int)", 200_000, grid_x=blocks, grid_y=1, grid_z=1, block_x=threads, block_y=1, block_z=1
    )


def found(trace):
    a100(trace)
    run(trace, _stencil(40))


def found_smaller_than_a_warp(trace):
    """Blocks of 16 threads: half of the lanes, and no more blocks fit at once than of whole warps."""
    a100(trace)
    run(trace, _stencil(16))


def clean(trace):
    a100(trace)
    run(trace, _stencil(96))


def clean_single_block(trace):
    """One block of one thread: its lanes are not what is missing."""
    a100(trace)
    run(trace, _stencil(1, blocks=1))


def cannot_tell(trace):
    """No geometry."""
    run(trace, kernel("stencil(float*, int)", 200_000))
