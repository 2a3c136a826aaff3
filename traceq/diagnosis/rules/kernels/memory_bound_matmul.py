"""Matrix products that memory limits.

What it finds
    Matrix products with too few operations per byte to be limited by arithmetic, which take much longer than moving
    their operands once does.

Why it matters
    Skinny products (small batch, few rows, small heads) use neither the arithmetic nor, often, the bandwidth of the
    GPU. Larger or merged ones do more in the same time.

How it is measured
    Operators with bound = 'memory' (operator_cost), at least 20 us per kernel (shorter ones are start and end),
    below 0.8 of the bandwidth and 0.7 of the peak. Claimed is what is above the larger of the times for bytes and
    operations at these shares. Shares: 0 low, 0.4 likely, 1 high: many such shapes have no better kernel.

What to try
    A larger batch; products that share an input merged into one (query, key and value; gate and up); operands
    contiguous in the order in which the product reads them; half precision or quantised weights.

References
    https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
    https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, of_step
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Products above the part of the roofline that memory makes."""
    row = subject.worst(claim)[0]
    return {
        "fix": f"{cut(row['operator'])} of {cut(row['sizes'])} ({row['dtype']}) has {row['intensity']:.0f} operations per byte "
        f"where {row['ridge']:.0f} would be needed to be limited by arithmetic, and moves "
        f"{row['achieved_bandwidth']:.0f} of {row['peak_bandwidth']:.0f} GB/s. {_how(row)} At best "
        f"that saves {of_step(subject, claim.claimed_ns)}.",
    }


def _how(row: dict[str, Any]) -> str:
    if "bmm" in str(row["operator"]):
        return (
            "If it belongs to attention, torch.nn.functional.scaled_dot_product_attention never writes its result; else "
            "make its operands contiguous and their sizes multiples of 8."
        )
    return (
        "Merge products that share an input (nn.Linear(d, 3 * d) and .chunk(3, -1) for query, key and value), or raise the "
        "batch size."
    )
