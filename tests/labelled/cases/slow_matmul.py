from __future__ import annotations

from labelled.gpu_work import GEMM, a100, kernel, run, run_graph, shapes

SQUARE = shapes([4096, 4096], [4096, 4096], dtype="c10::BFloat16")
SKINNY = shapes([8, 8192], [8192, 8192], dtype="c10::BFloat16")


def found(trace):
    """137 GFLOP, which take 440 us at the peak, in 2 ms."""
    a100(trace)
    run(trace, kernel(GEMM, 2_000_000, "aten::mm", SQUARE))


def found_emit_nvtx(trace):
    """Shapes without types: the kernel's name tells bf16."""
    a100(trace)
    run(trace, kernel(GEMM, 2_000_000, "aten::mm", shapes([4096, 4096], [4096, 4096], dtype=None)))


def found_in_a_graph(trace):
    """The trace holds the capture of its graph, which tells operators and shapes; the product stands inside another operator."""
    a100(trace)
    run_graph(trace, kernel(GEMM, 2_000_000, ("aten::linear", "aten::mm"), SQUARE))


def clean_fast(trace):
    a100(trace)
    run(trace, kernel(GEMM, 600_000, "aten::mm", SQUARE))


def clean_memory(trace):
    """What memory limits is another rule's."""
    a100(trace)
    run(trace, kernel(GEMM, 250_000, "aten::mm", SKINNY))


def cannot_tell(trace):
    """A GPU whose peak is not known."""
    run(trace, kernel(GEMM, 2_000_000, "aten::mm", SQUARE))
