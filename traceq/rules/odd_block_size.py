"""Blocks that do not fill their warps.

What it finds
    Kernels whose number of threads per block is no multiple of 32 (64 on AMD): the last warp of each block has
    lanes without a thread.

Why it matters
    A warp executes all its lanes at once, used or not. With 33 threads nearly half of the arithmetic is for
    nothing.

How it is measured
    threads_per_block (kernel_occupancy) against the warp size of the GPU (device_model), of kernels with at least
    as many blocks as there are multiprocessors (without a description: 32). Claimed is the share of lanes without a
    thread. Shares: 0 low (kernels that wait for memory do not get faster), 0.5 likely, 1 high.

What to try
    A block of 128 or 256 threads, with a test of the index in the kernel.

References
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.kernels import short
from traceq.rules.shared.wording import of_step, plural

# Fewer blocks do not fill any GPU.
_BLOCKS = 32


def odd_block_size(subject: Subject) -> Iterator[Advice]:
    """Lanes without a thread."""
    subject.needs("gpu", "steps", "kernel_geometry")
    claim = subject.claim("odd_block_size", low=0.0, likely=0.5, high=1.0, blocks=_BLOCKS)
    if claim is None:
        return
    row = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"Launch {short(row['name'])} with a whole number of warps per block: it has "
            f"{plural(row['threads_per_block'], 'thread')}. Take 128 or 256 "
            "(kernel<<<(n + 255) / 256, 256>>>(...), if (index < n) in the kernel; in Triton and Numba the size of the "
            f"block). At best that saves {of_step(subject, claim.claimed_ns)}."
        ),
        confidence="low",
        reason="The number of threads is recorded; whether these lanes limit the kernel is not.",
        wrong_if="The kernel waits for memory: then idle lanes cost nothing.",
    )
