from __future__ import annotations

from labelled.gpu_work import ADD, GEMM, a100, kernel, run

BLOCK = {"block_x": 128, "block_y": 1, "block_z": 1, "registers_per_thread": 64, "shared_memory": 0}
GEOMETRY = BLOCK | {"grid_x": 16, "grid_y": 1, "grid_z": 1}
SMALL = kernel(GEMM, 8_000, "aten::mm", **GEOMETRY)
LAYER = kernel(GEMM, 60_000, "aten::mm", **(GEOMETRY | {"grid_x": 1024}))


def found(trace):
    """A loop over sixteen experts."""
    a100(trace)
    run(trace, LAYER, *[SMALL] * 16, LAYER)


def clean_chain(trace):
    """A recurrent network: each product needs the result of the one before."""
    a100(trace)
    run(trace, LAYER, *[SMALL, kernel(ADD, 8_000)] * 16, LAYER)


def clean_projections(trace):
    """Query, key and value."""
    a100(trace)
    run(trace, *[SMALL, SMALL, SMALL, kernel(ADD, 8_000)] * 4)


def clean_large(trace):
    a100(trace)
    run(trace, *[LAYER] * 16)


def cannot_tell(trace):
    trace.op("aten::mm", 0, 1_000)
