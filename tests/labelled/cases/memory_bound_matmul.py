from __future__ import annotations

from labelled.gpu_work import GEMM, a100, kernel, run, run_graph, shapes

SKINNY = shapes([8, 8192], [8192, 8192], dtype="c10::BFloat16")
SQUARE = shapes([4096, 4096], [4096, 4096], dtype="c10::BFloat16")


def found(trace):
    """134 MB that take 66 us at the bandwidth of the GPU."""
    a100(trace)
    run(trace, kernel(GEMM, 250_000, "aten::mm", SKINNY))


def found_in_a_graph(trace):
    """The trace holds the capture of its graph, which tells operators and shapes."""
    a100(trace)
    run_graph(trace, kernel(GEMM, 250_000, "aten::mm", SKINNY))


def clean_at_the_bandwidth(trace):
    a100(trace)
    run(trace, kernel(GEMM, 80_000, "aten::mm", SKINNY))


def clean_compute(trace):
    """What arithmetic limits is another rule's."""
    a100(trace)
    run(trace, kernel(GEMM, 3_000_000, "aten::mm", SQUARE))


def cannot_tell(trace):
    """No shapes."""
    a100(trace)
    run(trace, kernel(GEMM, 250_000, "aten::mm"))
