from __future__ import annotations

from labelled.gpu_work import GEMM_FP32, GEMM_TF32, a100, kernel, run, v100

CONVOLUTION = "cudnn_infer_ampere_scudnn_128x64_relu_medium_nn_v1"


def found(trace):
    a100(trace)
    run(trace, kernel(GEMM_FP32, 200_000, "aten::mm"), kernel(CONVOLUTION, 100_000, "aten::cudnn_convolution"))


def found_convolutions(trace):
    """Products use TF32, convolutions do not: they are switched apart."""
    a100(trace)
    run(trace, kernel(GEMM_TF32, 100_000), kernel(CONVOLUTION, 100_000))


def clean_on(trace):
    """TF32 is on; single products do not take it."""
    a100(trace)
    run(trace, kernel(GEMM_TF32, 200_000), kernel(GEMM_FP32, 100_000))


def clean_volta(trace):
    """A GPU without TF32."""
    v100(trace)
    run(trace, kernel("volta_sgemm_128x64_nn", 200_000))


def cannot_tell(trace):
    """A GPU that is not described."""
    run(trace, kernel(GEMM_FP32, 200_000))
