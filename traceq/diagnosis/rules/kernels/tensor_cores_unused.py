"""Matrix products in 32 bits.

What it finds
    Matrix products and convolutions in fp32 or TF32 on a GPU with tensor cores for 16 bits, where little or nothing
    is computed in 16 bits.

Why it matters
    The peak in bf16 or fp16 is twice that of TF32 and 8 to 16 times that of fp32 without tensor cores. Half as many
    bytes are moved as well.

How it is measured
    Kernels of cuBLAS, CUTLASS and cuDNN by what their operators (dtype) or names say of their arithmetic, if less
    than half of their time is in 16 bits or less (more: mixed precision is on, and the rest is likely meant), on
    compute capability 7.0 and later (device_model, or names like volta_sgemm where the GPU is not described).
    Claimed is what is faster by the peaks, at most three quarters, and not what moving operands of half the size
    takes at 0.8 of the bandwidth; nothing of kernels for operands that are not aligned (_align1, _align2), which
    are as slow in 16 bits. Shares: 0.25 low, 0.6 likely (casts and products that stay small), 1 high.

What to try
    with torch.autocast("cuda", dtype=torch.bfloat16) around forward pass and loss; on Volta and Turing
    dtype=torch.float16 with torch.amp.GradScaler. On a V100 channels_last besides lets cuDNN use its tensor core
    kernels.

References
    https://docs.pytorch.org/docs/stable/amp.html
    https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html
    https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import short
from traceq.diagnosis.rules.shared.wording import of_step, percent
from traceq.diagnosis.subject import Subject

_BF16 = 'with torch.autocast("cuda", dtype=torch.bfloat16): loss = criterion(model(x), y)'
_FP16 = (
    'with torch.autocast("cuda", dtype=torch.float16): loss = criterion(model(x), y), then '
    "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update() with scaler = torch.amp.GradScaler()"
)


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Products in fp32 and TF32."""
    worst = subject.worst(claim)
    how = _BF16 if worst[0]["has_bfloat"] else _FP16
    half = float(worst[0]["half_share"])
    is_mixed = half > 0
    now = {"fp32": "fp32 without tensor cores", "tf32": "TF32"}[str(worst[0]["arithmetic"])]
    return {
        "fix": f"Compute products and convolutions in 16 bits: {how}. "
        f"{f'{percent(half)} of their time is in 16 bits now' if is_mixed else 'None is now'}; the kernels in 32 bits, such "
        f"as {short(worst[0]['name'])} in {now}, would take {of_step(subject, claim.claimed_ns)} less at best.",
        "confidence": "low" if is_mixed else "medium",
        "reason": "A part is in 16 bits already; the rest may be meant to be in 32."
        if is_mixed
        else "What the kernels compute in is told by their names; how much faster they get is estimated by the peaks.",
    }
