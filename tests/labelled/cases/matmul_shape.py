from __future__ import annotations

from labelled.gpu_work import GEMM, a100, kernel, run, shapes

ODD = (
    "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(cutlass_75_tensorop_bf16::Params)"
)
EVEN = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_tn_align8>(cutlass_80::Params)"
TF32 = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>(cutlass_80_tensorop::Params)"


def found(trace):
    """A vocabulary of 50,257."""
    a100(trace)
    sizes = shapes([2048, 1024], [1024, 50257], dtype="c10::BFloat16")
    run(trace, kernel(GEMM, 200_000, "aten::mm"), kernel(ODD, 3_000_000, "aten::mm", sizes))


def found_without_shapes(trace):
    run(trace, kernel(GEMM, 200_000), kernel(ODD, 200_000))


def clean(trace):
    run(trace, kernel(GEMM, 200_000), kernel(EVEN, 200_000), kernel(TF32, 200_000))


def clean_at_the_roofline(trace):
    """Badly aligned, and as fast as an aligned one."""
    a100(trace)
    sizes = shapes([4096, 4096], [4096, 4097], dtype="c10::BFloat16")
    run(trace, kernel(ODD, 640_000, "aten::mm", sizes))


def cannot_tell(trace):
    trace.op("aten::mm", 0, 1_000)
