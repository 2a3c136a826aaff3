from __future__ import annotations

from labelled.gpu_work import ADD, COPY, FILL, GEMM, MUL, kernel, run

LAYER = kernel(GEMM, 200_000, "aten::mm")


def found(trace):
    """Three operations on the same tensor between layers."""
    run(
        trace,
        LAYER,
        kernel(MUL, 60_000, "aten::mul"),
        kernel(ADD, 60_000, "aten::add"),
        kernel(COPY, 60_000, "aten::copy_"),
    )


def found_without_operators(trace):
    run(trace, kernel(GEMM, 200_000), kernel(MUL, 60_000), kernel(ADD, 60_000))


def clean_single(trace):
    """Each between layers: nothing to fuse it with."""
    run(trace, LAYER, kernel(MUL, 60_000), LAYER, kernel(ADD, 60_000), LAYER)


def clean_same(trace):
    """The same over and over, such as additions to many tensors."""
    run(trace, LAYER, *[kernel(ADD, 60_000)] * 8)


def clean_compiled(trace):
    run(
        trace,
        LAYER,
        kernel("triton_poi_fused_add_mul_0", 60_000),
        kernel("triton_poi_fused_add_1", 60_000),
        kernel(FILL, 9_000),
    )


def clean_optimizer(trace):
    """The optimizer's are another rule's."""
    around = ("Optimizer.step#Adam.step",)
    for number in range(3):
        start = number * 500_000
        trace.annotation(f"ProfilerStep#{number}", start, 500_000)
        trace.kernel(GEMM, start + 10_000, 200_000, launched=(start + 1_000, 2_000))
        trace.annotation(around[0], start + 10_000, 100_000)
        trace.kernel(MUL, start + 210_000, 60_000, launched=(start + 11_000, 2_000))
        trace.kernel(ADD, start + 270_000, 60_000, launched=(start + 15_000, 2_000))
        trace.call("cudaDeviceSynchronize", start + 120_000, 220_000)


def cannot_tell(trace):
    trace.op("aten::mul", 0, 1_000)
