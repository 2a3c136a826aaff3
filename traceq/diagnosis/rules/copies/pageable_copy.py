"""Asynchronous copies of pageable memory.

What it finds
    Copies that the program asked for asynchronously, from or to host memory that is not pinned, and the time for
    which the GPU idles because such a call holds the host.

Why it matters
    The GPU cannot reach pageable memory. The driver copies it piece by piece through a small pinned buffer of its
    own: the call returns late, the copy is slower than the link, and the host launches nothing meanwhile.

How it is measured
    copy_overlap with is_pageable and is_async_call, of at least 64 KiB (up to there a copy to the device is staged
    at once and its call returns). Claimed are their exposed times; idle_sync under their calls (and under the
    synchronization that PyTorch adds inside the same aten::copy_); and the launching gaps that begin because such a
    call had let the GPU run dry, for not longer than the call held the host. Reading single values (.item()) and
    checkpoints are left out. Low, likely and high share: 0.3, 0.7 and 1: pinned memory is about twice as fast, and
    lets the copy run beside compute.

What to try
    Pin the host memory once, keep it, and copy with non_blocking=True.

References
    https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#pinned-memory
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.copies import asked_for, described, moved
from traceq.diagnosis.subject import Subject

_LEAST_BYTES = 64 << 10

_PYTORCH = {
    "h2d": (
        "Pin the source: DataLoader(..., pin_memory=True), or x = x.pin_memory() once for a buffer that is used again, then "
        "x.to(device, non_blocking=True)."
    ),
    "d2h": (
        "Copy into a pinned buffer that is kept: buffer = torch.empty(x.shape, dtype=x.dtype, pin_memory=True), "
        "buffer.copy_(x, non_blocking=True), and synchronize an event before the host reads it, while later work is queued."
    ),
}
_CUDA = (
    "Allocate the host buffer with cudaMallocHost(&pointer, bytes) once (or pin it with cudaHostRegister): from pageable "
    "memory cudaMemcpyAsync is not asynchronous."
)


def judge(subject: Subject) -> Iterator[Advice]:
    """Copies that would be asynchronous if their memory was pinned."""
    asked_for(subject)
    subject.needs("copy_memory", "calls")
    claim = subject.claim("held_copy", low=0.3, likely=0.7, high=1.0, kind="pageable", least_bytes=_LEAST_BYTES)
    if claim is None:
        return
    ways = [each.direction for each in moved(subject, claim)]
    remedies = [_PYTORCH[way] for way in ways if way in _PYTORCH] if subject.has("operators") else [_CUDA]
    yield Advice(
        claim,
        fix=" ".join([described(subject, claim), *remedies]),
        confidence="high",
        reason="The trace says that the memory is pageable and that the call was asynchronous.",
        wrong_if="Pinning the memory leaves the rate of these copies as it is, and the data is needed at once.",
    )
