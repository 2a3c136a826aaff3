"""Synchronous copies.

What it finds
    Copies between host and GPU by synchronous calls (cudaMemcpy), and the time for which the GPU idles because the
    call holds the host.

Why it matters
    The call waits for all work before it and for the copy itself. Until it returns the host launches nothing, and
    when it does the GPU has nothing to do.

How it is measured
    copy_overlap whose call does not say Async, between host and device; copies to the device of up to 64 KiB are
    left out, as their calls return at once (the same bound as in nsys' cuda_memcpy_sync), and copies inside the
    device, which do not hold the host. Claimed are their exposed times, idle_sync under their calls, and the
    launching gaps that begin because such a call had let the GPU run dry, for not longer than the call held the
    host. Low, likely and high share: 0.2, 0.6 and 1: an asynchronous copy still takes its time, beside computation
    if there is any.

What to try
    cudaMemcpyAsync on a stream of its own, with pinned memory; events instead of waiting.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#asynchronous-and-overlapping-transfers-with-computation
    https://docs.nvidia.com/cuda/cuda-runtime-api/api-sync-behavior.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.copies import asked_for, described
from traceq.diagnosis.subject import Subject

_SMALL_BYTES = 64 << 10


def judge(subject: Subject) -> Iterator[Advice]:
    """Copies by calls that wait."""
    asked_for(subject)
    subject.needs("calls")
    claim = subject.claim("held_copy", low=0.2, likely=0.6, high=1.0, kind="blocking", least_bytes=_SMALL_BYTES)
    if claim is None:
        return
    pageable = any("Pageable" in (row["name"] or "") for row in subject.worst(claim))
    pin = (
        " Pin the memory (cudaMallocHost or cudaHostRegister): it is pageable, and such copies are never asynchronous."
    )
    yield Advice(
        claim,
        fix=(
            f"{described(subject, claim)} Replace cudaMemcpy(to, from, bytes, kind) by cudaMemcpyAsync(to, from, bytes, "
            "kind, stream) on a stream of its own, let the stream that needs the data wait with cudaStreamWaitEvent, and "
            "synchronize only where the host reads the result. In PyTorch: x.to(device, non_blocking=True)."
            f"{pin if pageable else ''}"
        ),
        confidence="high",
        reason="The call is synchronous by its name, and the trace shows the time.",
        wrong_if="The host needs the result at once, and has no other work to launch before it.",
    )
