"""Attention that is not fused.

What it finds
    Softmax between two batched matrix products, each a kernel of its own: attention that writes its matrix of
    scores to memory and reads it again for every operation on it.

Why it matters
    The scores have a size of the square of the sequence. A fused kernel (FlashAttention, memory-efficient or cuDNN
    attention) never writes them, takes a fraction of the time and needs memory in proportion to the sequence only.

How it is measured
    Per stream, a softmax (not a log-softmax, which belongs to a loss) between two kernels of matrix products with
    nothing but elementwise work, copies and unknown kernels between, at most 8 kernels in all; where operators were
    recorded, both products must be batched (aten::bmm, not aten::mm or aten::addmm). Claimed are softmax and
    elementwise kernels wholly, of the products what is above their operations at 0.4 of the peak (what fused
    kernels reach at the least on sequences worth it), or half where that is not known. Shares: 0.4 low, 0.8 likely,
    1 high.

What to try
    torch.nn.functional.scaled_dot_product_attention, in half precision. Masks that are a rule (causal, windows,
    documents) go into flex_attention; sizes of heads that are a multiple of 8 are needed for the fastest kernels.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
    https://docs.pytorch.org/tutorials/intermediate/scaled_dot_product_attention_tutorial.html
    https://arxiv.org/abs/2205.14135
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import short
from traceq.diagnosis.rules.shared.wording import of_step, percent
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Products, softmax, and what is between."""
    worst = subject.worst(claim)
    softmax = next((row["name"] for row in worst if not row["is_product"]), worst[0]["name"])
    has_operators = any(row["operator"] for row in worst)
    return {
        "fix": f"Products and softmax of attention take {of_step(subject, claim.claimed_ns)} more than a fused kernel "
        f"would ({percent(float(claim.row['claimed_share']))}; mostly {short(softmax)}). Replace "
        "(q @ k.transpose(-2, -1) * scale + mask).softmax(-1) @ v by "
        "torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p) with "
        "is_causal=True in place of a causal mask; with Transformers: "
        'from_pretrained(..., attn_implementation="sdpa").',
        "confidence": "high" if has_operators else "medium",
        "reason": "Two batched matrix products with a softmax between were launched one after another."
        if has_operators
        else "The names of kernels one after another on a stream are those of unfused attention.",
    }
