"""Offloading that computation waits for.

What it finds
    Copies of activations, gradients or optimizer state to the host and back, in every step, that run alone on the
    GPU.

Why it matters
    Offloading trades time on the link for memory. It is free as long as the copies run beside computation, and
    costs their full time where it is started too late or waits for each copy.

How it is measured
    Copies of at least 1 MiB to the host in forward, backward or optimizer, and to the device in backward or
    optimizer (copy_overlap.position), both in at least half of the counted steps and no less than two, where what
    goes and what comes back differ by less than a factor of 4: otherwise they have nothing to do with each other.
    Claimed is their exposed time. Low, likely and high share: 0.3, 0.7 and 1.

What to try
    A stream of its own, pinned buffers kept from step to step, fetching a layer ahead; or less offloading.

References
    https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html
    https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.copies import asked_for, described

_LEAST_BYTES = 1 << 20
_LEAST_STEPS_SHARE = 0.5
_MOST_RATIO = 4


def offload_copy(subject: Subject) -> Iterator[Advice]:
    """Copies of offloaded memory."""
    asked_for(subject)
    subject.needs("calls", "phases", "several_steps")
    claim = subject.claim(
        "offload_copy",
        low=0.3,
        likely=0.7,
        high=1.0,
        least_bytes=_LEAST_BYTES,
        least_steps_share=_LEAST_STEPS_SHARE,
        most_ratio=_MOST_RATIO,
    )
    if claim is None:
        return
    places = sorted({row["position"] for row in subject.worst(claim)})
    yield Advice(
        claim,
        fix=(
            f"{described(subject, claim)} They run in {' and '.join(places)}. Copy on a stream of its own (with "
            "torch.cuda.stream(copies):) from and to pinned buffers that are kept, with non_blocking=True, and fetch one "
            "layer ahead with two buffers in turn: copies.wait_event(...) before, "
            "torch.cuda.current_stream().wait_stream(copies) where the data is used. DeepSpeed: pin_memory=true and "
            "overlap_comm=true. If memory allows, offload less, or recompute activations instead "
            "(torch.utils.checkpoint)."
        ),
        confidence="medium",
        reason="Places, sizes and recurrence say offloading; what the copies hold is not known.",
        wrong_if="What goes to the host is a result, and what comes to the device is new input.",
    )
