"""Waiting in sends and receives.

What it finds
    Point-to-point transfers between ranks (send, recv, and kernels that do both) that run on the GPU while no compute
    does: what a stage of pipeline parallelism does while it waits for another one.

Why it matters
    Of p stages, all but one wait while a batch enters and leaves the pipeline: with m micro-batches a share of (p -
    1) / (m + p - 1) of each step is lost at best. A stage that is slower than the others makes all of them wait, in
    every micro-batch.

How it is measured
    Slices of send, recv or send_recv in collective_slice, in the counted steps: blocking where the trace knows it,
    else exposed. A kernel whose name alone says SendRecv counts unless the trace also has all-to-alls, which run in
    the same kernel. low 0.1, likely 0.4, high 0.9: four times the micro-batches take away most of a bubble, but cost
    efficiency where they get small, and they do nothing for an uneven split.

What to try
    More micro-batches per step; an interleaved or zero-bubble schedule; an even split of the layers over the stages
    (embedding and loss are work, too). Start transfers before the work that hides them.

References
    https://docs.pytorch.org/docs/stable/distributed.pipelining.html
    https://github.com/NVIDIA/Megatron-LM
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.collectives import asked_for, described, summed_up
from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

# Sends and receives may have a communicator of two for each pair of ranks: that is no number of stages.
_PAIR = 2


def judge(subject: Subject) -> Iterator[Advice]:
    """Exposed transfers between stages."""
    asked_for(subject)
    claim = subject.claim("collective_role", low=0.1, likely=0.4, high=0.9, role="pipeline", kind="any")
    if claim is None:
        return
    facts = summed_up(subject, claim)
    is_told = facts["ops"] != "send_recv"
    yield Advice(
        claim,
        fix=_fix(subject, claim, facts),
        confidence="medium" if is_told else "low",
        reason=(
            "The trace says that these are sends and receives; that they belong to a pipeline is inferred."
            if is_told
            else "Only the kernel's name says what this is; NCCL also runs all-to-all, gather and scatter in it."
        ),
        wrong_if=(
            "They belong to ring attention or to an all-to-all, not to stages of a pipeline; or the rank waits for "
            "one that is late."
        ),
    )


def _fix(subject: Subject, claim: Claim, facts: dict[str, Any]) -> str:
    share, stages = claim.claimed_ns / subject.step_ns, facts["group_size"]
    text = f"{percent(share)} of a step ({time(claim.claimed_ns)}) goes into waiting in {described(facts)}. "
    if stages and stages > _PAIR and 0 < share < 1:
        # the bubble (p - 1) / (m + p - 1) solved for m
        batches = max(1.0, (stages - 1) * (1 - share) / share)
        text += (
            f"Were it the bubble of {stages} stages alone, (p - 1) / (m + p - 1), it would be that of m = "
            f"{batches:.0f} micro-batches; "
            f"with {4 * batches:.0f} it would be {percent((stages - 1) / (4 * batches + stages - 1))}. "
        )
    return (
        f"{text}Cut the batch into more micro-batches (ScheduleInterleaved1F1B(stages, n_microbatches=4 * p) of "
        "torch.distributed.pipelining; Megatron: a smaller --micro-batch-size, "
        "--num-layers-per-virtual-pipeline-stage), and move layers away "
        "from the stage whose GPU is busy longest."
    )
