"""Exposed reduction of gradients.

What it finds
    All-reduces and reduce-scatters of gradients that run while no compute does, though most of them could overlap
    the rest of the backward pass.

Why it matters
    Gradients of the last layers are ready first. If they are reduced in buckets while the earlier layers still
    compute, they cost next to nothing; if they are reduced late, in too few buckets, or more slowly than the backward
    pass, they make every step longer.

How it is measured
    Slices of all_reduce and reduce_scatter in collective_slice, in the counted steps: blocking where the trace knows
    it, else exposed. They are gradients when a range around them says so (AccumulateGrad, DistributedDataParallel),
    when they are launched in the backward pass and have at least 64 KiB (less is a norm or a metric), or, without
    marks of phases, when they lie behind the first 30 % of a step's kernels (forward) and have at least 1 MiB.
    Backward compute that overlapped nothing could have hidden that much: the likely share is that time over
    the claim, between 0.3 and 0.7, and 0.5 where phases are unknown; low 0.1, high 1. The last bucket of a step
    cannot be hidden, nor can waiting for a late rank. In a trace of several GPUs, a GPU that spends at most 0.75 of
    the time in as many collectives is named: the others wait for it.

What to try
    A different size of gradient buckets; no_sync() while gradients accumulate; bf16 compression; a static graph; a
    larger batch per GPU.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    https://docs.pytorch.org/docs/stable/notes/ddp.html
    https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.collectives import (
    describe_late_device,
    describe_overlap,
    require_communication,
    sum_up_collectives,
)
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.diagnosis.rules.shared.wording import byte_size
from traceq.diagnosis.subject import Subject

_SINGLE_PRECISION = ("float", "float32", "fp32", "c10::float")


def judge(subject: Subject) -> Iterator[Advice]:
    """Yield advice on gradients that are reduced with nothing beside."""
    require_communication(subject)
    subject.only_for("training")
    given = {"role": "gradient", "kind": "any"}
    claim = subject.claim("collective_role", low=0.1, likely=1.0, high=1.0, **given)
    if claim is None:
        return
    hidden = _could_be_hidden(subject, claim)
    claim = subject.claim("collective_role", low=0.1, likely=hidden, high=1.0, **given)
    if claim is None:
        return
    facts = sum_up_collectives(subject, claim)
    yield Advice(
        claim,
        title="Reduce gradients during the backward pass",
        fix=_advise_fix(subject, facts),
        confidence="high" if facts["knows_blocking"] else "medium",
        reason=(
            "The trace shows that compute which was ready waited for these collectives."
            if facts["knows_blocking"]
            else "Nothing was computed in this time; that the collectives are gradients, and delayed compute, "
            "is inferred."
        ),
        wrong_if="The other ranks' traces show that most of this is waiting for a late rank.",
    )


def _could_be_hidden(subject: Subject, claim: Claim) -> float:
    """Return the share (0..1) of the claim that backward compute without communication beside it could have hidden.

    It is kept within thresholds; a threshold stands for it where no such compute is known.
    """
    free = float(subject.ask("gradient_overlap_free")[0]["free"] or 0)
    limits = subject.thresholds("gradient_overlap_free")
    if not free:
        return limits["unknown_hidden"]
    return min(max(free / (claim.claimed_ns * subject.steps), limits["least_hidden"]), limits["most_hidden"])


def _advise_fix(subject: Subject, facts: dict[str, Any]) -> str:
    limits = subject.thresholds("gradient_overlap_free")
    usual = limits["usual_bucket"]
    if facts["bytes"] and facts["bytes"] > 2 * usual and facts["per_step"] <= limits["few_buckets"]:
        sizes, bucket = f"Use buckets smaller than {byte_size(facts['bytes'])}, which start late", 25
    elif facts["bytes"] and facts["bytes"] < usual / 2:
        sizes, bucket = "Use larger buckets, which use the link better", 100
    else:
        sizes, bucket = "Try another bucket size", 50
    advice = [remedy_for(subject.program, "gradients_early", sizes=sizes, bucket=bucket)]
    if (facts["dtype"] or "float").lower() in _SINGLE_PRECISION:
        advice.append(remedy_for(subject.program, "gradients_fewer_bytes"))
    advice.append(remedy_for(subject.program, "gradients_less_often"))
    return f"{' '.join(filter(None, advice))} {describe_overlap(facts)}{describe_late_device(subject)}"
