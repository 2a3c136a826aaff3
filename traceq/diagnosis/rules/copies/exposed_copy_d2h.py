"""Exposed copies: to the host, with nothing else running.

What it finds
    Copies from the device to the host during which nothing else runs on the GPU, as far as no other rule says why.

Why it matters
    The GPU has engines of their own for copies. Time in which only they work is time in which it computes nothing.

How it is measured
    The exposed time of copies from device to host (copy_overlap, category copy_d2h). Low and high share are 0 and
    1. Likely is the larger of 0.5, as halving the bytes is often possible (half precision, only what is needed),
    and 0.8 of the share that compute later in the step could hide (could_overlap, not more than the compute there
    is); some of that compute may overwrite what is copied. Where compute takes less than a tenth of the time of the
    copies it is 0.9: then the data is not worth moving.

What to try
    Copy on a stream of its own into pinned memory; reduce on the GPU and copy the result.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#asynchronous-and-overlapping-transfers-with-computation
    https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.copies import asked_for
from traceq.diagnosis.rules.shared.exposed_copies import rest_of
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """What is left of copy_d2h."""
    asked_for(subject)
    yield from rest_of(
        subject,
        "copy_d2h",
        "Exposed copies: to the host with nothing beside them",
        "Reduce or convert on the GPU and copy the result (torch.argmax, half precision), copy less often, and copy while the "
        "next piece is computed: into pinned memory with cudaMemcpyAsync on a stream of its own (PyTorch: "
        "buffer.copy_(x, non_blocking=True) with torch.cuda.stream(copies)), with an event before the host reads.",
    )
