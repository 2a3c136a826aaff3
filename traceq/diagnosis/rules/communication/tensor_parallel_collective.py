"""Exposed tensor-parallel collectives.

What it finds
    The all-reduces of tensor parallelism (or its all-gathers and reduce-scatters, with sequence parallelism) that run
    while no compute does: several per layer, forward and backward, each awaited by the next kernel.

Why it matters
    Nothing hides them by itself: the next layer needs the sum. They last as long as the slowest rank needs to arrive,
    several times per layer, so that every delay of any rank's host is a delay of all.

How it is measured
    Slices of collective_slice in the counted steps: blocking where the trace knows it, else exposed. All-reduces are
    tensor-parallel when a step has at least 8 of one size and group (two layers' worth), less than 10 % of their time
    is overlapped (DDP's overlap with backward), at least 15 % of them lie in the forward pass (else in the first
    third of the step: DDP has none there), and no gradient hook is around them. low 0.05, likely 0.5, high 0.9: an
    unknown part is waiting for late ranks, which only mending those ranks wins. In a trace of several GPUs the one that is
    in as many collectives for at most 0.75 of the time is named: the others wait for it.

What to try
    Compare the ranks first: waiting for a late rank looks the same here. Then sequence parallelism, overlap of
    communication with the matrix products around it, a lower degree of tensor parallelism, and never tensor
    parallelism across nodes.

References
    https://github.com/NVIDIA/Megatron-LM
    https://docs.pytorch.org/tutorials/intermediate/TP_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.collectives import asked_for, described, late_device, summed_up
from traceq.diagnosis.rules.shared.wording import time
from traceq.diagnosis.subject import Subject

# Of the typical duration of its kind: where the fastest is shorter than that, the rest is waiting.
_MUCH_SHORTER = 0.5


def judge(subject: Subject) -> Iterator[Advice]:
    """Collectives inside layers, on the critical path."""
    asked_for(subject)
    claim = subject.claim("collective_role", low=0.05, likely=0.5, high=0.9, role="tensor", kind="any")
    if claim is None:
        return
    facts = summed_up(subject, claim)
    operation = "all-reduce" if facts["ops"] == "all_reduce" else "collectives"
    yield Advice(
        claim,
        title=f"Exposed tensor-parallel {operation}",
        fix=_fix(subject, facts),
        confidence="medium",
        reason=(
            "That the GPU computes nothing meanwhile is measured; what they are for is inferred from their number, "
            "size and place."
        ),
        wrong_if="Traces of the other ranks show that most of it is waiting for a late rank: mend that rank.",
    )


def _fix(subject: Subject, facts: dict[str, Any]) -> str:
    return (
        f"{described(facts)}, {time(facts['dur'])} each (median).{_waiting(facts)}{late_device(subject)} "
        "Put the traces of all ranks into one database (traceq ingest "
        "rank*.json) to see who is late. Then split the sequence as well (Megatron: --sequence-parallel; PyTorch: "
        "SequenceParallel in "
        "parallelize_module), overlap with the matrix products (--tp-comm-overlap; "
        "torch._inductor.config._micro_pipeline_tp = True), or lower "
        "the degree: half of --tensor-model-parallel-size with more data parallelism, if the model fits."
    )


def _waiting(facts: dict[str, Any]) -> str:
    fastest = facts["fastest_of_typical_size"]
    if fastest is None or fastest >= _MUCH_SHORTER * facts["dur"]:
        return ""
    return f" The fastest of that size takes {time(fastest)}, so most of this is waiting for other ranks, not transfer."
