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

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.collectives import late_device, overlapped, summed_up
from traceq.diagnosis.rules.shared.wording import cut
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What is left of communication."""
    facts = summed_up(subject, claim)
    return {
        "fix": f"{overlapped(facts)}{late_device(subject)} The "
        "longest: "
        f"{cut(subject.worst(claim)[0]['name'])}. Start it as soon as its input is there and wait where the "
        "result is used: work = dist.all_reduce(x, "
        "async_op=True); ...; work.wait(). Put the traces of all ranks into one database (traceq ingest rank*) "
        "to see whether it waits for a "
        "late rank.",
        "confidence": "medium" if facts["knows_blocking"] else "low",
    }
