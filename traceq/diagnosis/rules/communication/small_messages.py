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

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.collectives import described, summed_up
from traceq.diagnosis.rules.shared.wording import time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Collectives that could be one."""
    facts, worst = summed_up(subject, claim), subject.worst(claim)[0]
    join = (
        "DistributedDataParallel(model, bucket_cap_mb=25) reduces gradients in large buckets; without it, flatten "
        "them: flat = "
        "torch._utils._flatten_dense_tensors(gradients); dist.all_reduce(flat)."
        if worst["phase"] == "backward"
        else "Send them as one: torch.cat the tensors before and split after, or dist.all_gather_into_tensor of one buffer."
    )
    return {
        "fix": f"{described(facts)}, {time(facts['dur'])} each (median), nearly all of it latency. {join}",
    }
