"""Single collectives that take far longer than usual.

What it finds
    A few collectives that last over three times as long as others of the same operation, group and size do.

Why it matters
    What moves the same bytes between the same ranks takes the same time, unless a rank comes late (garbage
    collection, a checkpoint, a slow batch) or the network fails to deliver (retransmissions, another job). All ranks
    lose that time.

How it is measured
    Durations in collective_slice, in the counted steps, against the median of the same operation, group and size, of
    at least 8 (fewer have no median worth the name); without sizes, against the same collective of the other steps.
    Outliers are longer than 3 medians. Only classes that are steady otherwise count: median at most twice the 10th
    percentile, 90th percentile no outlier; where all vary, late ranks are usual and no exception. Claimed is what
    exceeds the median, where exposed. low 0.2, likely 0.7, high 1.

What to try
    Look at what the other ranks did at that time. If no rank was late: the network's counters, NCCL_DEBUG=INFO, links
    and switches shared with other jobs.

References
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.collectives import asked_for, size
from traceq.rules.shared.wording import cut, time

_FEWEST = 8
_OUTLIER = 3.0
_STEADY = 2.0


def slow_collective(subject: Subject) -> Iterator[Advice]:
    """Outliers of otherwise steady collectives."""
    asked_for(subject)
    claim = subject.claim(
        "slow_collective", low=0.2, likely=0.7, high=1.0, fewest=_FEWEST, outlier=_OUTLIER, steady=_STEADY
    )
    if claim is None:
        return
    worst = subject.worst(claim)[0]
    sent = f" of {size(worst['bytes'])}" if worst["bytes"] else ""
    yield Advice(
        claim,
        fix=(
            f"{claim.instances} of the collectives took far longer than usual; the longest, {worst['op']}{sent} in "
            f"step {worst['step']}, "
            f"{time(worst['dur'])} instead of {time(worst['typical_ns'])} ({cut(worst['name'])}). Look at what the "
            "other ranks did just then: "
            "capture all of them (traceq ingest rank*). Garbage collection is a usual reason: gc.disable(), and "
            "gc.collect() at the same step "
            "on all ranks. If no rank was late, run with NCCL_DEBUG=INFO and look at the network's error counters."
        ),
        confidence="medium",
        reason="The same operation with the same bytes and ranks usually takes a third of that or less.",
        wrong_if=(
            "The slow ones carried out something else, or waited for something that the step needs on another rank."
        ),
    )
