"""Kernels are tried out inside steps.

What it finds
    The search for the fastest kernel in counted steps: torch.backends.cudnn.benchmark trying out convolution
    algorithms, Triton's and Inductor's autotuners.

Why it matters
    Every candidate runs, some of them very slowly, with a synchronization after each. Once per shape that pays off;
    with shapes that change it happens again and again.

How it is measured
    Ranges and frames of autotuners (the patterns are in the query), and convolution operators that launch at least
    8 GPU slices and 4 times as many as the median of their name: cuDNN's search tries from a handful to dozens of
    algorithms, an ordinary call launches one to three. Claimed is idle time whose end was asked for there
    (idle_piece: compile, launch, sync, allocation, python, launch latency), and the time of the kernels launched
    there (busy_piece), in convolutions less the usual share. Low 0.5, likely 1, high 1: one choice by heuristics
    may be slower than the best.

What to try
    Warm up with all shapes before training and what is measured. Where shapes vary: pad them to a few, or set
    torch.backends.cudnn.benchmark = False; keep Triton's and Inductor's caches between runs.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/backends.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import names, plural, time
from traceq.diagnosis.subject import Subject

# A convolution that launches so many GPU slices ...
_TRIALS = 8
# ... and so many times as many as is usual for its name tries out algorithms.
_TIMES = 4


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Idle time and trial kernels of autotuners."""
    worst = subject.worst(claim)
    is_search = any(row["trials"] is not None for row in worst)
    hint = (
        "If shapes vary, switch the search off: `torch.backends.cudnn.benchmark = False`, or pad inputs to a few shapes. "
        "If they do not, run the step once with each shape before training: what was found is kept."
        if is_search
        else "Tune before training: run the step once with every shape, and keep the caches between runs "
        "(TRITON_CACHE_DIR, TORCHINDUCTOR_CACHE_DIR). Pad shapes that vary to a few, or take them out of the autotuner's key."
    )
    return {
        "fix": f"{hint} {plural(claim.row['steps_with_it'], 'counted step')} of {subject.steps} tune, {time(claim.claimed_ns)} "
        f"per step on average ({names(worst[:3])}).",
        "confidence": "medium" if is_search else "high",
        "reason": "Inferred from convolutions that launch many times as many kernels as usual."
        if is_search
        else "Ranges or frames of an autotuner surround this time.",
    }
