"""Many small collectives.

What it finds
    Collectives of less than 1 MiB that follow one another with no kernel between them, or that reduce gradients,
    exposed.

Why it matters
    A collective takes tens of microseconds before the first byte moves, however small it is. Many small ones cost
    many times that; one large one costs it once.

How it is measured
    Slices of collective_slice below 1 MiB in the counted steps, at least 8 per step, where the same thread launched
    no kernel between one and the next of the same operation and group (else the next may need the kernel's result),
    or in backward with at least 4 KiB. Claimed is exposed time, but at most 100 us each: what is longer is waiting
    for other ranks. low 0.3, likely 0.7, high 0.9: of many, few remain.

What to try
    Larger gradient buckets; one collective for several tensors.

References
    https://docs.pytorch.org/docs/stable/notes/ddp.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/groups.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.collectives import asked_for, described, summed_up
from traceq.rules.shared.wording import time

_SMALL = 2**20
_SMALLEST_BUCKET = 2**12
_LATENCY = 100_000
_FEWEST = 8


def small_messages(subject: Subject) -> Iterator[Advice]:
    """Collectives that could be one."""
    asked_for(subject)
    subject.needs("message_sizes", "launches")
    claim = subject.claim(
        "small_messages",
        low=0.3,
        likely=0.7,
        high=0.9,
        small=_SMALL,
        bucket=_SMALLEST_BUCKET,
        latency=_LATENCY,
        fewest=_FEWEST,
    )
    if claim is None:
        return
    facts, worst = summed_up(subject, claim), subject.worst(claim)[0]
    join = (
        "DistributedDataParallel(model, bucket_cap_mb=25) reduces gradients in large buckets; without it, flatten "
        "them: flat = "
        "torch._utils._flatten_dense_tensors(gradients); dist.all_reduce(flat)."
        if worst["phase"] == "backward"
        else "Send them as one: torch.cat the tensors before and split after, or dist.all_gather_into_tensor of one buffer."
    )
    yield Advice(
        claim,
        fix=f"{described(facts)}, {time(facts['dur'])} each (median), nearly all of it latency. {join}",
        confidence="medium",
        reason=(
            "Sizes and times are recorded; that they can be joined is inferred: no kernel is launched between them, "
            "or they are gradients."
        ),
        wrong_if="Each needs the result of the one before it.",
    )
