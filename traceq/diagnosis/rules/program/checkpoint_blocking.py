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

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import names, plural, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """All of idle_checkpoint."""
    (facts,) = subject.ask("checkpoint_blocking_facts")
    often = (
        f"{plural(facts['saves'], 'save')} in {facts['steps']} of {plural(subject.steps, 'counted step')}, "
        f"{time(facts['save_ns'])} each"
        if facts["saves"]
        else f"{time(claim.row['longest_ns'])} at a time"
    )
    return {
        "fix": f"Save in the background: {names(subject.worst(claim)[:3])} holds up training ({often}). "
        "`future = torch.distributed.checkpoint.async_save(state, checkpoint_id=path)` returns once the state is copied "
        "to the host; wait for `future.result()` before the next save. Or save every n-th time only: what a save "
        "costs per step falls with the number of steps between two.",
    }
