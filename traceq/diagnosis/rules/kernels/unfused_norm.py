"""Normalisations and activations made of several kernels.

What it finds
    Layer or RMS norms, GELU and SiLU written as a formula, each operation of which is a kernel of its own: a power,
    a mean, an addition, a reciprocal root and products for a norm, and so on.

Why it matters
    Each kernel reads and writes the whole tensor. One kernel for all of it does so once; it also keeps less for the
    backward pass and needs a fraction of the launches.

How it is measured
    Per stream, among elementwise kernels, reductions and copies one after another, those that only such a formula
    has: a root at most five kernels after a mean or variance (norm), tanh as soon after a power, or erf (GELU),
    sigmoid directly before a product (SiLU, quick GELU), each with the kernels around it that belong to the
    formula. Of k kernels the share 1 - 1/k is claimed. Only forward passes are recognised. Shares: 0.4 low, 0.8
    likely, 1 high.

What to try
    torch.nn.functional.layer_norm, rms_norm, gelu(approximate="tanh") and silu, fused kernels of Liger, Apex or
    Transformer Engine, or torch.compile on the module.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.rms_norm.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import of_step
from traceq.diagnosis.subject import Subject

_WHAT = {"norm": "norm", "gelu": "GELU", "silu": "sigmoid times its input"}
_INSTEAD = {
    "norm": "torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps), or layer_norm",
    "gelu": 'torch.nn.functional.gelu(x, approximate="tanh")',
    "silu": "torch.nn.functional.silu(x) (for x * sigmoid(1.702 * x) torch.compile, which fuses it)",
}


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Formulas whose kernels follow one another."""
    worst = subject.worst(claim)
    patterns = list(dict.fromkeys(str(row["pattern"]) for row in worst))
    what = " and ".join(_WHAT[each] for each in patterns)
    return {
        "fix": f"Use one kernel for each {what}, which now takes {worst[0]['kernels']:.0f} kernels and in all "
        f"{of_step(subject, claim.claimed_ns)} more than one would: "
        f"{'; '.join(_INSTEAD[each] for each in patterns)}. torch.compile(module) does the same for any formula.",
    }
