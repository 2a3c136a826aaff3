"""GPU idle: the host is in a call that waits for the GPU.

What it finds
    Time in which the GPU has nothing to do while the host still sits in a call that waits for it, or that copies
    pageable memory, as far as no more specific rule says why it was called.

Why it matters
    Returning from such a call takes a while, and the host cannot launch before it has.

How it is measured
    The pieces of cause idle_sync in the counted steps (idle_piece). Shares: low 0.3, likely 1, high 1: the call may
    be needed.

What to try
    Find out who calls: profile(with_stack=True), or torch.cuda.set_sync_debug_mode("warn").

References
    https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_sync_debug_mode.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import cut, per_step
from traceq.units import duration


def idle_sync(subject: Subject) -> Iterator[Advice]:
    """What is left of idle_sync."""
    subject.needs("gpu", "steps", "calls")
    claim = subject.claim("idle_sync", low=0.3, likely=1.0)
    if claim is None:
        return
    worst = subject.worst(claim)[0]
    yield Advice(
        claim,
        fix=(
            f"The GPU idles {per_step(subject, claim.claimed_ns)} while the host is in calls that wait for it, the longest "
            f"in {cut(worst['name'])} ({duration(worst['claimed'])}). Let PyTorch say which lines wait: "
            'torch.cuda.set_sync_debug_mode("warn"). Use non_blocking=True with pinned memory for copies, and read values '
            "every 50 steps instead of each."
        ),
        confidence="medium",
        reason="The call is in the trace; why the program makes it is not.",
        wrong_if="The host needs the result before it can go on.",
        is_rest=True,
    )
