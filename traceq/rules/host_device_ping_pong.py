"""Data that leaves the GPU and comes back within a step.

What it finds
    Copies to the host followed by copies of the same size to the device, within one step and in step after step.

Why it matters
    Both ways cost a copy over the slowest link of the machine, and mostly a wait for the GPU as well, only because
    a piece of work in between runs on the host.

How it is measured
    Pairs of copy_overlap.returns_slice_id of at least 4 KiB (smaller ones are values and flags, and equal by
    chance), in at least half of the counted steps and no less than two, where every copy to the device of that size
    is the second of a pair: otherwise something else of that size comes in. Copies of 1 MiB and more that return
    for backward or the optimizer are offloading, see offload-copy; batches, checkpoints and pipelines are left out.
    Claimed is the exposed time of both copies. Low, likely and high share: 0.6, 1 and 1.

What to try
    Do the work in between on the GPU (torch instead of numpy, a kernel instead of a loop on the host).

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.copies import asked_for, described

_LEAST_BYTES = 4096
_OFFLOAD_BYTES = 1 << 20
_LEAST_STEPS_SHARE = 0.5


def host_device_ping_pong(subject: Subject) -> Iterator[Advice]:
    """Pairs of copies of the same bytes."""
    asked_for(subject)
    subject.needs("calls", "several_steps")
    claim = subject.claim(
        "host_device_ping_pong",
        low=0.6,
        likely=1.0,
        high=1.0,
        least_bytes=_LEAST_BYTES,
        offload_bytes=_OFFLOAD_BYTES,
        least_steps_share=_LEAST_STEPS_SHARE,
    )
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"{described(subject, claim)} Find what happens between .cpu() or .numpy() and the copy back, and do it on the "
            "GPU: x = torch.clamp(x, 0, 1) instead of x = torch.from_numpy(np.clip(x.cpu().numpy(), 0, 1)).to(device). If "
            "the host must do it, let the result stay there until it is needed, and start both copies with "
            "non_blocking=True and pinned memory."
        ),
        confidence="medium",
        reason="Sizes and order match in every pair; the trace does not say what bytes were copied.",
        wrong_if="What comes back is other data that has the same size.",
    )
