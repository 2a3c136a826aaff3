from __future__ import annotations

from labelled.gpu_work import COPY, FLASH, GEMM, MUL, SOFTMAX, a100, kernel, run

LAYER = kernel(GEMM, 100_000, "aten::addmm")


def found(trace):
    """Scores, scale, softmax and values are kernels of their own."""
    a100(trace)
    run(
        trace,
        LAYER,
        kernel(GEMM, 50_000, "aten::bmm"),
        kernel(MUL, 40_000, "aten::div"),
        kernel(SOFTMAX, 60_000, "aten::_softmax"),
        kernel(GEMM, 50_000, "aten::bmm"),
        LAYER,
    )


def found_without_operators(trace):
    """The same from nsys: the names of kernels say it."""
    run(trace, kernel(GEMM, 50_000), kernel(SOFTMAX, 60_000), kernel(GEMM, 50_000), kernel(COPY, 100_000))


def found_backward(trace):
    """Two products on each side of the gradient of softmax."""
    backward = SOFTMAX.replace("Forward", "Backward")
    product = kernel(GEMM, 50_000, "aten::bmm")
    run(
        trace,
        LAYER,
        product,
        product,
        kernel(backward, 60_000, "aten::_softmax_backward_data"),
        product,
        product,
        LAYER,
    )


def clean_fused(trace):
    run(trace, LAYER, kernel(FLASH, 90_000, "aten::_scaled_dot_product_flash_attention"), LAYER)


def clean_classifier(trace):
    """The softmax of a loss stands between two products too, of layers."""
    log_softmax = SOFTMAX.replace("float, float>", "float, float, at::native::LogSoftMaxForwardEpilogue>")
    run(trace, LAYER, kernel(log_softmax, 80_000, "aten::_log_softmax"), LAYER)


def clean_gate(trace):
    """A softmax between layers, such as the gate of experts."""
    run(trace, LAYER, kernel(SOFTMAX, 80_000, "aten::_softmax"), LAYER)


def cannot_tell(trace):
    trace.op("aten::_softmax", 0, 1000)
