from __future__ import annotations

from labelled.gpu_work import ADD, FLASH, GEMM, kernel, run


def found(trace):
    run(trace, kernel(FLASH, 300_000), kernel(GEMM, 100_000))


def clean(trace):
    run(trace, kernel(FLASH, 100_000), kernel(GEMM, 100_000), kernel(ADD, 50_000))


def clean_idle(trace):
    """Most of what the GPU does, which is next to nothing."""
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", number * 1_000_000, 1_000_000)
        trace.kernel(FLASH, number * 1_000_000 + 10_000, 100_000, launched=(number * 1_000_000 + 1_000, 2_000))
        trace.kernel(ADD, number * 1_000_000 + 110_000, 10_000, launched=(number * 1_000_000 + 4_000, 2_000))


def cannot_tell(trace):
    trace.op("aten::mm", 0, 1_000)


def clean_products(trace):
    """Matrix products on tensor cores are what a GPU is there for."""
    run(trace, kernel(GEMM, 300_000), kernel(FLASH, 100_000))
