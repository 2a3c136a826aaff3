from __future__ import annotations

from labelled.cases.decode_bandwidth import PRODUCT, name, serve
from labelled.gpu_work import GEMM, a100


def decode(trace, kernel=GEMM, requests=8):
    """Steps that decode in one product, of which no operator tells the shapes."""
    a100(trace)
    for number in range(4):
        at = 100_000 * number
        trace.annotation(name(800, requests), at, 100_000)
        trace.kernel(kernel, at + 5_000, 85_000, launched=(at + 1_500, 1_000))
        trace.call("cudaStreamSynchronize", at + 9_000, 85_000)


def found(trace):
    decode(trace)


def found_in_experts(trace):
    decode(trace, "void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<bf16>>()")


def clean_where_shapes_tell(trace):
    """Another rule knows the bytes."""
    a100(trace)
    serve(trace, 22_000, args=PRODUCT)


def clean_with_many_tokens(trace):
    """Arithmetic limits products of 512 rows."""
    decode(trace, requests=512)


def clean_in_8_bits(trace):
    decode(trace, "nvjet_sm103_qqtst_64x16_64x16_4x1_v_bz_TNT_e4m3_gemm")


def clean_attention(trace):
    decode(trace, "fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64")


def cannot_tell(trace):
    trace.op("aten::mm", 0, 1_000)
