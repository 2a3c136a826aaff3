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

from collections.abc import Iterator
from typing import Any

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import cut, of_step

# Shorter kernels are mostly start and end; ns.
_SHORTEST = 20_000
# What good kernels reach of the peaks of arithmetic and memory.
_COMPUTE, _MEMORY = 0.7, 0.8


def memory_bound_matmul(subject: Subject) -> Iterator[Advice]:
    """Products above the part of the roofline that memory makes."""
    subject.needs("gpu", "steps", "launches", "operators", "peaks")
    claim = subject.claim(
        "memory_bound_matmul", low=0.0, likely=0.4, high=1.0, shortest=_SHORTEST, compute=_COMPUTE, memory=_MEMORY
    )
    if claim is None:
        return
    row = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"{cut(row['operator'])} of {cut(row['sizes'])} ({row['dtype']}) has {row['intensity']:.0f} operations per byte "
            f"where {row['ridge']:.0f} would be needed to be limited by arithmetic, and moves "
            f"{row['achieved_bandwidth']:.0f} of {row['peak_bandwidth']:.0f} GB/s. {_how(row)} At best "
            f"that saves {of_step(subject, claim.claimed_ns)}."
        ),
        confidence="low",
        reason="Operations and bytes follow from the shapes; whether a better kernel for them exists is not known.",
        wrong_if="Shapes are fixed and their operands contiguous: then this is what the library reaches.",
    )


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
