from __future__ import annotations

from labelled.gpu_work import ADD, GEMM, GEMM_FP32, GEMM_TF32, a100, kernel, run, v100


def found_volta(trace):
    v100(trace)
    run(trace, kernel("volta_sgemm_128x64_nn", 200_000), kernel("volta_scudnn_128x64_relu_medium_nn_v1", 100_000))


def found_tf32(trace):
    """TF32 is half as fast as bf16."""
    a100(trace)
    run(trace, kernel(GEMM_TF32, 200_000), kernel(ADD, 100_000))


def found_undescribed(trace):
    """The names of kernels tell what GPU it is."""
    run(trace, kernel("volta_sgemm_128x64_nn", 200_000))


def clean_mixed(trace):
    """Mixed precision is on; what is left in 32 bits is meant."""
    a100(trace)
    run(trace, kernel(GEMM, 300_000), kernel(GEMM_FP32, 60_000))


def clean_pascal(trace):
    """A GPU without tensor cores."""
    trace.add("device", device=0, name="Tesla P100-SXM2-16GB", compute_capability="6.0", sm_count=56, source="trace")
    run(trace, kernel("maxwell_sgemm_128x64_nn", 200_000))


def cannot_tell(trace):
    trace.op("aten::mm", 0, 1_000)


def clean_not_aligned(trace):
    """Products of odd sizes are slow for that, and as slow in 16 bits."""
    a100(trace)
    run(trace, kernel(GEMM_TF32.replace("align4", "align1"), 300_000))
