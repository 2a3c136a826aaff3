"""Matrix products of sizes that tensor cores do not like.

What it finds
    Matrix products on tensor cores whose operands are not aligned to 16 bytes: a size, or the stride of a view, is
    no multiple of 8 elements in 16 bits (4 in TF32).

Why it matters
    Loads of 16 bytes at once are what feeds tensor cores. Without, a fallback kernel loads element by element, and
    is often an old one for an older GPU: a vocabulary of 50,257 in place of 50,304 can halve the speed of its
    product.

How it is measured
    Kernels of tensor cores with _align1, _align2 or (in 16 bits) _align4 in their name, which says how many
    elements they load at once. Claimed is what is above the roofline of an aligned kernel (0.6 of the peak, 0.8 of
    the bandwidth), at most three quarters; where operations are not known, 0.5, 0.35 and 0.15 of the time. nvjet
    and xmma kernels do not name their alignment. Shares: 0.2 low, 0.7 likely, 1 high.

What to try
    Pad vocabulary, hidden sizes, numbers of classes and sequence lengths to a multiple of 8 (64 is better on A100
    and later), and copy odd views to contiguous tensors.

References
    https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

import re
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.kernels import short
from traceq.diagnosis.rules.shared.wording import cut, of_step
from traceq.diagnosis.subject import Subject

# The last two sizes of an operand.


_ENDS = re.compile(r"(\d+), ?(\d+)\]")


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Kernels for badly aligned operands."""
    worst = subject.worst(claim)
    row = worst[0]
    return {
        "fix": f"Make sizes a multiple of {row['multiple']}: {_which(row)} runs {short(row['name'])}, which loads "
        f"{row['alignment']} element{'s' if row['alignment'] > 1 else ''} at a time. {_padding(row)} "
        "(weights and tables when they are created, sequences in the collate function). At best that "
        f"saves {of_step(subject, claim.claimed_ns)}.",
    }


def _which(row: dict[str, Any]) -> str:
    sizes = f" of {cut(row['sizes'])}" if row["sizes"] else ""
    return f"{cut(row['operator'])}{sizes}" if row["operator"] else "a product"


def _padding(row: dict[str, Any]) -> str:
    """The sizes at the end of an operand that are no multiple, each with the next one that is."""
    multiple = row["multiple"]
    ends = [int(size) for pair in _ENDS.findall(row["sizes"] or "") for size in pair]
    odd = [size for size in dict.fromkeys(ends) if size > multiple and size % multiple]
    if not odd:
        return "Its sizes are, so copy the views that do not start at a multiple: x = x.contiguous()"
    return f"Pad {', '.join(f'{size:,} to {-(-size // multiple) * multiple:,}' for size in odd)}"
