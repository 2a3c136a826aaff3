"""SyncBatchNorm waits for all ranks in every layer.

What it finds
    The collectives of synchronized batch normalization that run while no compute does: an all-gather per layer in the
    forward pass, an all-reduce per layer in the backward pass.

Why it matters
    They carry a few kilobytes, so their time is latency and waiting for the last rank, once per layer and direction,
    and the next kernel needs the result.

How it is measured
    Communication launched inside operators or ranges called SyncBatchNorm... in the counted steps, where exposed
    (busy_piece). low 0.3, likely 0.8, high 1: plain batch normalization has none of it.

What to try
    Plain BatchNorm where the batch per GPU is large enough (16 or more), GroupNorm or LayerNorm, frozen statistics
    when fine-tuning, or a small process group.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import CannotTell
from traceq.diagnosis.rules.shared.collectives import asked_for, described, summed_up
from traceq.diagnosis.rules.shared.wording import time
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """Collectives inside batch normalization."""
    asked_for(subject)
    if not subject.has("operators") and not subject.has("annotations"):
        raise CannotTell("no operator and no range is in the trace: whether SyncBatchNorm ran is not known")
    claim = subject.claim("sync_batch_norm", low=0.3, likely=0.8, high=1.0)
    if claim is None:
        return
    facts = summed_up(subject, claim)
    yield Advice(
        claim,
        fix=(
            f"SyncBatchNorm asks for {described(facts)}, {time(facts['dur'])} each (median). With 16 or more "
            "samples per GPU leave out "
            "torch.nn.SyncBatchNorm.convert_sync_batchnorm(model); with fewer, synchronize inside a node only: "
            "convert_sync_batchnorm(model, process_group=ranks_of_this_node), or use torch.nn.GroupNorm."
        ),
        confidence="high",
        reason="The collectives are launched inside SyncBatchNorm's operators.",
        wrong_if="The batch per GPU is so small that training needs the statistics of all ranks.",
    )
