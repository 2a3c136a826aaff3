"""Matrix products far below the peak.

What it finds
    Matrix products and convolutions that arithmetic limits and that reach less than half of the peak of their type.

Why it matters
    They are where the peak can be reached: libraries get to 0.7 of it and more on large, well-shaped products.

How it is measured
    Operators with bound = 'compute' (operator_cost), at least 20 us per kernel, with achieved below 0.5 of peak.
    Claimed is what is above their operations at 0.7 of the peak. Shares: 0.1 low, 0.5 likely, 1 high.

What to try
    Sizes that fill tiles and waves (multiples of 128 or 256), layouts (channels_last for convolutions),
    torch.backends.cudnn.benchmark, torch.compile(mode="max-autotune"), a newer cuBLAS or cuDNN, fp8 with
    Transformer Engine where the type allows it.

References
    https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
    https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, of_step, percent
from traceq.diagnosis.subject import Subject

_HOW = {
    "matmul": (
        'torch.compile(model, mode="max-autotune") looks for a better kernel; sizes that are multiples of 128 fill its '
        "tiles"
    ),
    "convolution": (
        "torch.backends.cudnn.benchmark = True looks for a better algorithm, and model.to(memory_format=torch.channels_last) "
        "gives it the layout that tensor cores want"
    ),
}


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Products far below the roofline of arithmetic."""
    row = subject.worst(claim)[0]
    return {
        "fix": f"{cut(row['operator'])} of {cut(row['sizes'])} reaches {row['achieved']:.0f} of {row['peak']:.0f} TFLOP/s in "
        f"{row['compute_type']} ({percent(row['achieved'] / row['peak'])}). {_HOW[str(row['kind'])]}. At "
        f"{percent(float(claim.values['reachable']))} of the peak all such would take {of_step(subject, claim.claimed_ns)} less.",
    }
