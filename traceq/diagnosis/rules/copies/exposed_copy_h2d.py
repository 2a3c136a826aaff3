"""Exposed copies: to the GPU, with nothing else running.

What it finds
    Copies from the host to the device during which nothing else runs on the GPU, as far as no other rule says why.

Why it matters
    The GPU has engines of their own for copies. Time in which only they work is time in which it computes nothing.

How it is measured
    The exposed time of copies from host to device (copy_overlap, category copy_h2d). Low and high share are 0 and
    1. Likely is the larger of 0.5, as halving the bytes is often possible (half precision, only what is needed),
    and 0.8 of the share that compute later in the step could hide (could_overlap, not more than the compute there
    is); some of that compute needs the copy. Where compute takes less than a tenth of the time of the copies it is
    0.9: then the data is not worth moving.

What to try
    Copy ahead on a stream of its own from pinned memory; send fewer bytes; keep on the GPU what does not change.

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
    """What is left of copy_h2d."""
    asked_for(subject)
    yield from rest_of(
        subject,
        "copy_h2d",
        "Exposed copies: to the GPU with nothing beside them",
        "Copy the next piece while this one is computed: pinned memory, cudaMemcpyAsync on a stream of its own (PyTorch: with "
        "torch.cuda.stream(copies): x.to(device, non_blocking=True)), and an event where it is needed. Keep on the GPU what "
        "stays the same, send half precision or integers and convert on the GPU, and do more with what is there before "
        "the next piece.",
    )
