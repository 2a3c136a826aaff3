"""Exposed copies: inside or between GPUs, with nothing else running.

What it finds
    Copies inside a device and between devices, and migrations, during which nothing else runs on the GPU, as far as
    no other rule says why.

Why it matters
    Bytes are moved and nothing is computed.

How it is measured
    The exposed time of copies that are neither from host to device nor back (copy_overlap, category copy_other).
    Low and high share are 0 and 1. Likely is the larger of 0.5, as many of them can be left out or halved, and 0.8
    of the share that compute later in the step could hide (could_overlap, not more than the compute there is).
    Where compute takes less than a tenth of the time of the copies it is 0.9: then the data is not worth moving.

What to try
    Let kernels write where the data is wanted; swap pointers instead of copying; fuse copies into kernels.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#memory-optimizations
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.exposed_copies import rest_of
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """What is left of copy_other."""
    subject.needs("gpu", "steps")
    if not subject.present["copies"]:
        raise NothingThere("no copy ran on the GPU")
    yield from rest_of(
        subject,
        "copy_other",
        "Exposed copies: inside or between GPUs with nothing beside them",
        "Swap the pointers of two buffers instead of copying one into the other, let the kernel write its result where it is "
        "wanted (out=, views of one buffer), and move what must be copied to a stream of its own beside kernels.",
    )
