"""GPU idle: the host saves a checkpoint.

What it finds
    Time in which nothing runs on the GPU because the training thread serializes and writes a checkpoint.

Why it matters
    Training stands still for as long as copying the state to the host, serializing and writing it takes; only the
    first of these needs the GPU to wait.

How it is measured
    The pieces of cause idle_checkpoint in the counted steps (idle_piece), all of them. What counts as saving is in
    host_name (context checkpoint): torch.save and its frames, ranges named so. Low 0.5: copying the state to the
    host remains where training does. Likely and high 1. The mean over the captured steps is not that of the whole
    run, which saves less or more often than the capture shows.

What to try
    Write in the background: torch.distributed.checkpoint.async_save, or a copy of the state in pinned memory that a
    thread of its own writes. Save less often. Let each rank write its part.

References
    https://docs.pytorch.org/tutorials/recipes/distributed_async_checkpoint_recipe.html
    https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import names, plural, time


def checkpoint_blocking(subject: Subject) -> Iterator[Advice]:
    """All of idle_checkpoint."""
    subject.needs("gpu", "steps")
    claim = subject.claim("checkpoint_blocking", low=0.5, likely=1.0)
    if claim is None:
        return
    (facts,) = subject.ask("checkpoint_blocking_facts")
    often = (
        f"{plural(facts['saves'], 'save')} in {facts['steps']} of {plural(subject.steps, 'counted step')}, "
        f"{time(facts['save_ns'])} each"
        if facts["saves"]
        else f"{time(claim.row['longest_ns'])} at a time"
    )
    yield Advice(
        claim,
        fix=(
            f"Save in the background: {names(subject.worst(claim)[:3])} holds up training ({often}). "
            "`future = torch.distributed.checkpoint.async_save(state, checkpoint_id=path)` returns once the state is copied "
            "to the host; wait for `future.result()` before the next save. Or save every n-th time only: what a save "
            "costs per step falls with the number of steps between two."
        ),
        confidence="high",
        reason="The range or frame around this time says that it saves.",
        wrong_if="The capture happens to hold a save that a long run makes rarely: then its share of the run is smaller.",
        is_rest=True,
    )
