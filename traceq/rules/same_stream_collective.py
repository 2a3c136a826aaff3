"""Communication on the stream that computes.

What it finds
    Reductions of gradients and gathers of parameters that run on the same stream as the kernels that compute.

Why it matters
    Work on one stream runs one after the other. Gradients of one layer could be reduced while the next one computes,
    but here everything launched later waits, needed or not.

How it is measured
    Exposed time of collective_slice in the counted steps, on streams that have at least 25 % of the device's compute
    (side streams that pack buckets have less): reductions launched in the backward pass and gathers in forward or
    backward. All-reduces that occur in the forward pass as well are awaited by the next kernel anyway, and
    all-to-alls too; they do not count. low 0.1, likely 0.5, high 0.9.

What to try
    DistributedDataParallel and FSDP use streams of their own. By hand: async_op=True, and wait before the optimizer.

References
    https://docs.pytorch.org/docs/stable/distributed.html
    https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.collectives import asked_for, described, summed_up

# Of the device's compute: less is the packing of buckets beside communication.
_SHARE = 0.25


def same_stream_collective(subject: Subject) -> Iterator[Advice]:
    """Collectives that nothing launched later can overlap."""
    asked_for(subject)
    subject.needs("phases")
    claim = subject.claim("same_stream_collective", low=0.1, likely=0.5, high=0.9, share=_SHARE)
    if claim is None:
        return
    stream = subject.worst(claim)[0]["stream"]
    yield Advice(
        claim,
        fix=(
            f"{described(summed_up(subject, claim))} run on stream {stream}, which also computes. Use "
            "DistributedDataParallel(model), which reduces on a "
            "stream of its own while backward goes on; by hand: works = [dist.all_reduce(g, async_op=True) for g in "
            "gradients], and "
            "work.wait() for each just before optimizer.step()."
        ),
        confidence="medium",
        reason=(
            "Stream and phase are recorded; that the next kernels do not need the result is inferred from the phase."
        ),
        wrong_if="The kernels that follow on the stream use what was communicated.",
    )
