"""Memsets that nothing hides.

What it finds
    Memsets in whose time nothing else runs on the GPU, and that no other rule has a cause for.

Why it matters
    They are time in which the GPU writes zeros and computes nothing.

How it is measured
    Category memset of the ledger, shared out by the durations of memsets (busy_piece), all of it. Shares: 0 low,
    0.5 likely (libraries need some of their workspaces zeroed), 1 high.

What to try
    torch.empty in place of torch.zeros where everything is written anyway; buffers that are zeroed once and kept;
    zero_grad(set_to_none=True).

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.needs import NothingThere
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import plural, time


def exposed_memset(subject: Subject) -> Iterator[Advice]:
    """All of category memset."""
    subject.needs("gpu", "steps")
    if not subject.present["memsets"]:
        raise NothingThere("no memset ran on the GPU")
    claim = subject.claim("exposed_memset", low=0.0, likely=0.5, high=1.0)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"{plural(claim.instances / subject.steps, 'memset')} per step take {time(claim.claimed_ns)} in which nothing "
            "else runs. Zero only what is not written in full anyway (torch.empty in place of torch.zeros), and once in place of "
            "over and over; let gradients be None: optimizer.zero_grad(set_to_none=True)."
        ),
        confidence="medium",
        reason="The time is recorded; which of the memsets are needed is not.",
        wrong_if="They are the workspaces of a library, which needs them zeroed.",
        is_rest=True,
    )
