from __future__ import annotations

from labelled.gpu_work import ADD, GEMM, kernel, run

GEOMETRY = {"grid_x": 1024, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}


def _kernels(number, slow):
    return [
        kernel(GEMM, slow if number == 2 and index == 1 else 50_000 + 400 * number, **GEOMETRY) for index in range(4)
    ]


def found(trace):
    """One launch of twenty-four takes eight times as long."""
    run(trace, lambda number: _kernels(number, 400_000), steps=6)


def clean_noise(trace):
    run(trace, lambda number: _kernels(number, 58_000), steps=6)


def clean_layers(trace):
    """Launches of different sizes in each step, the same in all steps."""
    durs = (20_000, 300_000, 60_000, 150_000)
    run(trace, lambda _: [kernel(GEMM, dur, **GEOMETRY) for dur in durs], steps=6)


def clean_input(trace):
    """Steps with more or fewer launches: they have other inputs."""
    run(trace, lambda number: [kernel(ADD, 50_000 * (1 + number), **GEOMETRY)] * (1 + number), steps=6)


def cannot_tell(trace):
    """Two steps."""
    run(trace, lambda number: _kernels(number, 400_000), steps=2)


def clean_prompts(trace):
    """Steps of a server with more tokens, in the same number of kernels."""
    for number in range(12):
        tokens, dur = (2000, 400_000) if number % 4 == 2 else (100, 50_000)
        trace.annotation(f"step[EXTEND bs=1 toks={tokens}]", 500_000 * number, 500_000)
        trace.kernel(GEMM, 500_000 * number + 10_000, dur, launched=(500_000 * number, 5_000), **GEOMETRY)
