"""Tell what a kernel does for a program, whoever made it: cuBLAS and Tensile multiply matrices alike."""

from __future__ import annotations

import re

_PRODUCTS = "matrix products"
_EXPERTS = "products of experts"
_ROTARY = "rotary embedding"
_ROLES = {
    **dict.fromkeys(
        ("aiter", "composable_kernel", "cublas", "cutlass", "deep_gemm", "hipblas", "marlin", "nvjet", "trtllm"),
        _PRODUCTS,
    ),
    **dict.fromkeys(("cudnn", "miopen"), "convolutions"),
    **dict.fromkeys(("flash_attention", "linear_attention"), "attention"),
    "copy": "copies",
    "elementwise": "elementwise",
    "embedding": "embeddings",
    "index": "indexing",
    "kv_cache": "KV cache",
    "loss": "losses",
    "norm": "norms",
    "optimizer": "optimizer",
    "pooling": "pooling",
    "quantize": "quantization",
    "reduce": "reductions",
    "routing": "routing of experts",
    "sampling": "sampling",
    "scan_sort": "scans and sorts",
    "softmax": "softmax",
}
# Their names say which of several libraries was chosen, not what is computed.
OF_LIBRARIES = (_PRODUCTS, _EXPERTS, "convolutions", "attention")

_OF_EXPERTS = re.compile(r"moe|expert|_dynB|grouped_?gemm", re.IGNORECASE)
_OF_ROTARY = re.compile(r"rotary|rope", re.IGNORECASE)


def find_role(name: str, family: str | None) -> str | None:
    """Return the role of the kernel of this name and family (kernel_occupancy.family); None where they do not tell."""
    found = _ROLES.get(family or "")
    if found == _PRODUCTS and _OF_EXPERTS.search(name):
        return _EXPERTS
    if found in ("elementwise", "embeddings") and _OF_ROTARY.search(name):
        return _ROTARY
    return found
