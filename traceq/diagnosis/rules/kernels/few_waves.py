"""Kernels that do not fill the GPU.

What it finds
    Kernels with fewer blocks than the GPU has multiprocessors, and matrix kernels with a last wave of blocks that
    fills a part of the GPU only.

Why it matters
    A multiprocessor without a block does nothing until the kernel ends. With one and a bit waves of blocks the GPU
    works for two and is half empty in the second.

How it is measured
    Kernels (kernel_occupancy) of at least 20 us, with nothing beside them, with sm_coverage below 0.9; and kernels
    of cuBLAS, CUTLASS, cuDNN and nvjet, whose blocks all take as long, with 1 to 3 waves and wave_efficiency below
    0.8. Claimed is what is missing to 1. Shares: 0 low, 0.3 likely (a kernel that memory limits needs few
    multiprocessors, and the grid is the library's choice), 1 high.

What to try
    A larger batch or longer sequences per launch; work on several streams at once; split-k or stream-k kernels
    (torch.compile(mode="max-autotune")); more blocks in kernels of one's own.

References
    https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import short
from traceq.diagnosis.rules.shared.wording import per_step, plural, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Multiprocessors without a block."""
    row = subject.worst(claim)[0]
    return {
        "fix": f"Give each launch more to do: {short(row['name'])} ({time(row['dur'])}) {_what(row)}. {_how(row)} What "
        f"all such kernels leave empty is as much as an idle GPU for {per_step(subject, claim.claimed_ns)}.",
    }


def _what(row: dict[str, Any]) -> str:
    blocks = plural(row["blocks"], "block")
    if row["multiprocessors_share"] < 1:
        return f"has {blocks} for {plural(row['blocks'] / row['multiprocessors_share'], 'multiprocessor')}"
    return f"has {blocks}, {row['waves']:.2f} times what fits at once: the last wave fills a part of the GPU"


def _how(row: dict[str, Any]) -> str:
    if row["family"] == "unknown":
        return "Launch it with more and smaller blocks, at least one per multiprocessor (kernel<<<blocks, 256>>>)."
    if row["family"] in {"cublas", "cutlass", "nvjet"}:
        return (
            'torch.compile(model, mode="max-autotune") tries kernels that split the sum over more blocks; a larger batch '
            "size adds blocks."
        )
    return "A larger batch size (DataLoader(..., batch_size=...)) adds blocks."
