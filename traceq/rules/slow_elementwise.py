"""Elementwise kernels far below the bandwidth of memory.

What it finds
    Elementwise and normalising operators on large tensors that move less than half of what the memory of the GPU
    could.

Why it matters
    Nothing but bandwidth limits such a kernel; good ones reach 0.8 of it. Those that do not read their operands out
    of order (transposed or expanded views), convert types one element at a time, or go over their input several
    times.

How it is measured
    Operators of kinds elementwise and norm (operator_cost) of at least 32 MB (smaller tensors stay in the cache)
    and 20 us, below 0.5 of the peak of the bandwidth, norms (which may read their input twice) below 0.25. Claimed
    is what is above the time of reading and writing once at 0.8 of it. Shares: 0.1 low, 0.5 likely, 1 high.

What to try
    Contiguous operands in one layout (.contiguous() once in place of strided reads over and over, channels_last
    from end to end), no mixed types in one operation, torch.compile.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import cut, of_step, percent

# Smaller tensors stay in the L2 cache of some GPU; bytes.
_LARGE = 32_000_000
# Shorter kernels are mostly start and end; ns.
_SHORTEST = 20_000
# Below this share of the bandwidth a kernel is slow; good ones reach the other.
_SLOW, _MEMORY = 0.5, 0.8


def slow_elementwise(subject: Subject) -> Iterator[Advice]:
    """Large elementwise operators that do not use the bandwidth."""
    subject.needs("gpu", "steps", "launches", "operators", "shapes")
    claim = subject.claim(
        "slow_elementwise",
        low=0.1,
        likely=0.5,
        high=1.0,
        large=_LARGE,
        shortest=_SHORTEST,
        slow=_SLOW,
        memory=_MEMORY,
    )
    if claim is None:
        return
    row = subject.worst(claim)[0]
    how = (
        "Its kernel is one for operands that are strided, expanded or of different types: make them contiguous once "
        "(x = x.contiguous(), channels_last from end to end) and of one type, or compile it: torch.compile(model)."
        if row["is_strided"]
        else "It likely goes over its input more than once: use an operator that is fused with it (attention, "
        "cross-entropy), or torch.compile(model)."
    )
    yield Advice(
        claim,
        fix=(
            f"{cut(row['operator'])} of {cut(row['sizes'])} moves {row['achieved_bandwidth']:.0f} of "
            f"{row['peak_bandwidth']:.0f} GB/s ({percent(row['achieved_bandwidth'] / row['peak_bandwidth'])}). {how} At best "
            f"that saves {of_step(subject, claim.claimed_ns)}."
        ),
        confidence="medium",
        reason="Bytes follow from the shapes, each operand counted once.",
        wrong_if="The operator has to read more than once: rows too long for shared memory, or operands spread in memory.",
    )
