"""Zeroing gradients.

What it finds
    Fills and memsets that zero gradients, the time the GPU waits for their launching, and the additions of new
    gradients to these zeros.

Why it matters
    A gradient that is None is written by the backward pass; one that is zero has been written, is read and is
    written again. Nothing is gained by it.

How it is measured
    Kernels and memsets launched inside ranges or frames named zero_grad, idle time of causes idle_launch and
    idle_python inside them, and elementwise kernels launched by AccumulateGrad if there are at most 1.5 times as
    many as were zeroed (with several micro-batches per step the later ones add to something). Shares: 0.5 low, 1
    likely, 1 high.

What to try
    optimizer.zero_grad(set_to_none=True), the default since PyTorch 2.0, also for model.zero_grad().

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import of_step
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """What is launched in zero_grad, and adding to it."""
    subject.needs("gpu", "steps", "launches")
    if not subject.has("python_frames"):
        subject.needs("annotations")
    claim = subject.claim("zero_grad_memset", low=0.5)
    if claim is None:
        raise NothingThere("nothing was zeroed by zero_grad")
    yield Advice(
        claim,
        fix=(
            f"Let gradients be None in place of zeros: optimizer.zero_grad(set_to_none=True). Zeros take "
            f"{of_step(subject, claim.claimed_ns)}: the fills, waiting for their launches, and adding to them."
        ),
        confidence="high",
        reason="The work was launched inside zero_grad, or adds to as many gradients as it zeroed.",
        wrong_if=(
            "Something relies on gradients being there as zeros, or several backward passes add to them before the next "
            "zero_grad."
        ),
    )
