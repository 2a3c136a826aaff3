"""Exposed communication.

What it finds
    Communication during which the GPU computes nothing, and for which no other rule has a more specific cause.

Why it matters
    The GPU's arithmetic stands still while bytes move, or while the rank waits for others to arrive.

How it is measured
    The exposed time of all slices in collective_slice, in the counted steps. low 0, likely 0.3, high 1: compute may
    not have been ready meanwhile (then the host or the data is what the step waits for), and part is waiting for
    other ranks. In a trace of several GPUs the one that is
    in as many collectives for at most 0.75 of the time is named: the others wait for it.

What to try
    Start it earlier and wait for it later (async_op=True), on a stream of its own; send less, less often, or
    together; compare the ranks to see who is late.

References
    https://docs.pytorch.org/docs/stable/distributed.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.collectives import asked_for, described, late_device, summed_up
from traceq.rules.shared.wording import cut, percent


def exposed_communication(subject: Subject) -> Iterator[Advice]:
    """What is left of communication."""
    asked_for(subject)
    claim = subject.claim("exposed_communication", low=0.0, likely=0.3, high=1.0)
    if claim is None:
        return
    facts = summed_up(subject, claim)
    yield Advice(
        claim,
        fix=(
            f"{described(facts)}; {percent(facts['overlap_share'])} of their time is overlapped with compute."
            f"{late_device(subject)} The "
            "longest: "
            f"{cut(subject.worst(claim)[0]['name'])}. Start it as soon as its input is there and wait where the "
            "result is used: work = dist.all_reduce(x, "
            "async_op=True); ...; work.wait(). Put the traces of all ranks into one database (traceq ingest rank*) "
            "to see whether it waits for a "
            "late rank."
        ),
        confidence="medium" if facts["knows_blocking"] else "low",
        reason=(
            "That the GPU computes nothing meanwhile is measured; whether compute was ready is not, or it was not."
        ),
        wrong_if=(
            "Compute was not ready either: then the step waits for the host or the input, and this time changes "
            "nothing."
        ),
        is_rest=True,
    )
