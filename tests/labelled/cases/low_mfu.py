from __future__ import annotations

from labelled.gpu_work import ADD, GEMM, a100, kernel, run, shapes

SQUARE = shapes([4096, 4096], [4096, 4096], dtype="c10::BFloat16")
PRODUCT = kernel(GEMM, 600_000, "aten::mm", SQUARE)


def found(trace):
    """Busy, mostly with what memory limits."""
    a100(trace)
    run(trace, PRODUCT, kernel(ADD, 2_000_000, "aten::add_"))


def found_emit_nvtx(trace):
    """Shapes without types: the kernel's name tells bf16."""
    a100(trace)
    product = kernel(GEMM, 600_000, "aten::mm", shapes([4096, 4096], [4096, 4096], dtype=None))
    run(trace, product, kernel(ADD, 2_000_000, "aten::add_"))


def found_beside_products_without_operators(trace):
    """Products that only names tell may do more than is known, but not as much as they would have to."""
    a100(trace)
    run(trace, PRODUCT, kernel(GEMM, 100_000), kernel(ADD, 2_000_000, "aten::add_"))


def cannot_tell_what_most_products_do(trace):
    """With all of them at the peak it would be used well."""
    a100(trace)
    run(trace, PRODUCT, kernel(GEMM, 2_000_000), kernel(ADD, 2_000_000, "aten::add_"))


def clean(trace):
    a100(trace)
    run(trace, PRODUCT, kernel(ADD, 100_000, "aten::add_"))


def clean_idle(trace):
    """The GPU waits: other rules say for what."""
    a100(trace)
    for number in range(3):
        start = number * 3_000_000
        trace.annotation(f"ProfilerStep#{number}", start, 3_000_000)
        trace.op("aten::mm", start + 1_000, 5_000, args=SQUARE)
        trace.kernel(GEMM, start + 10_000, 600_000, launched=(start + 2_000, 2_000))


def cannot_tell(trace):
    """A GPU whose peak is not known."""
    run(trace, PRODUCT)
