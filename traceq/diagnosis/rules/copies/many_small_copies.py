"""Many small copies.

What it finds
    Ten and more copies of less than 64 KiB per step in one direction, and what asking for each of them costs.

Why it matters
    A small copy takes some microseconds whatever its size, and asking for it takes longer than the copy itself. One
    copy of everything costs as much as one of them.

How it is measured
    Copies between host and device below 64 KiB (at the rate of a link that is less than the latency of a copy or
    two), ten or more per step and direction (copy_overlap). Claimed are their exposed times and, of the launching
    gaps that end with one, up to 20 us each: what PyTorch takes to ask for a copy. Reading single values (.item())
    is left out: see item-read. Low, likely and high share: 0.3, 0.7 and 0.9.

What to try
    Pack what belongs together into one pinned buffer, copy once, and take views of it on the other side.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import CannotTell
from traceq.diagnosis.rules.shared.copies import asked_for, described
from traceq.diagnosis.subject import Subject

_SMALL_BYTES = 64 << 10
_MANY = 10
_ASK_NS = 20_000


def judge(subject: Subject) -> Iterator[Advice]:
    """Small copies that could be one."""
    asked_for(subject)
    if subject.is_whole_trace:
        raise CannotTell("nothing marks steps: how many copies a step makes is not known; traceq.annotate brings it")
    claim = subject.claim(
        "many_small_copies", low=0.3, likely=0.7, high=0.9, small_bytes=_SMALL_BYTES, many=_MANY, ask_ns=_ASK_NS
    )
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"{described(subject, claim)} Copy them together: on the host flat = torch.cat([x.reshape(-1) for x in "
            "parts]).pin_memory(), then flat.to(device, non_blocking=True).split(sizes); to the host the same the other "
            "way round. Better still, keep on the GPU what does not change from step to step."
        ),
        confidence="medium",
        reason="Number and sizes are facts; that these copies can be made together is not known.",
        wrong_if="Each of them is needed before the next one can be made.",
    )
