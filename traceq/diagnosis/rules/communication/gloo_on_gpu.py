"""Gloo moves tensors of the GPU.

What it finds
    Collectives of the Gloo backend whose tensors come from the GPU: they are copied to the host, sent from there, and
    copied back.

Why it matters
    NCCL sends from GPU to GPU, over NVLink or the network card, and on a stream that leaves the host free. Gloo
    crosses PCIe twice, sums on the CPU, and is one to two orders of magnitude slower.

How it is measured
    Operations of Gloo in host_collective other than barriers, with a copy from the GPU launched in them or in the
    operator around them. Claimed: those copies where exposed (busy_piece), and idle time that begins within
    (idle_piece). low 0.5, likely 0.9, high 1.

What to try
    backend="nccl" for tensors on the GPU; Gloo stays useful for tensors of the host.

References
    https://docs.pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import CannotTell
from traceq.diagnosis.rules.shared.collectives import size
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """Collectives that take the way over the host."""
    subject.needs("gpu", "steps", "launches")
    if not subject.has("operators") and not subject.has("annotations"):
        raise CannotTell("no operator and no range is in the trace: Gloo's collectives would not be seen")
    claim = subject.claim("gloo_on_gpu", low=0.5, likely=0.9, high=1.0)
    if claim is None:
        return
    worst = subject.worst(claim)[0]
    sent = f" of {size(worst['bytes'])}" if worst["bytes"] else ""
    yield Advice(
        claim,
        fix=(
            f"{worst['op']}{sent} goes over the host: Gloo copies it from the GPU and back. Use "
            'dist.init_process_group(backend="nccl"), or '
            '"cpu:gloo,cuda:nccl" where tensors of the host are communicated as well.'
        ),
        confidence="high",
        reason="Copies from the GPU are launched inside Gloo's collectives.",
        wrong_if=(
            "The tensors belong on the host and are copied only because the program asks for it; then keep them there."
        ),
    )
