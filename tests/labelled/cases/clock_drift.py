from __future__ import annotations

from labelled.gpu_work import ADD, FLASH, GEMM, MUL, kernel, run

GEOMETRY = {"grid_x": 1024, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
USUAL = {GEMM: 80_000, ADD: 30_000, FLASH: 60_000, MUL: 30_000}


def _kernels(number, growth, slower=tuple(USUAL)):
    return [
        kernel(name, round(dur * (1 + growth * number)) if name in slower else dur, **GEOMETRY)
        for name, dur in USUAL.items()
        for _ in range(2)
    ]


def found(trace):
    """All kernels take 4 % longer from step to step."""
    run(trace, lambda number: _kernels(number, 0.04), steps=9)


def found_every_second_step(trace):
    """All kernels take a quarter longer in every second step."""
    run(trace, lambda number: _kernels(number % 2, 0.25), steps=9)


def clean_steady(trace):
    run(trace, lambda number: _kernels(number % 2, 0.03), steps=9)


def clean_one(trace):
    """One kernel gets more to do, the others do not: no clock does that."""
    run(trace, lambda number: _kernels(number, 0.2, (GEMM,)), steps=9)


def cannot_tell(trace):
    """Two steps."""
    run(trace, lambda number: _kernels(number, 0.2), steps=2)
