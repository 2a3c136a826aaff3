"""Batches are loaded in the training process.

What it finds
    A PyTorch DataLoader without workers (num_workers=0): batches are read, transformed and collated by the thread
    that launches the GPU's work, and the GPU runs dry meanwhile.

Why it matters
    Loading and training take turns. With worker processes the next batches are made while the GPU works on this one.

How it is measured
    Idle time of cause idle_data (idle_piece) in fetches of loaders that the names of their ranges show to work in the
    training process (data_fetch.loader_kind = in_process). Fetching that runs beside queued GPU work costs nothing
    and is not counted. No threshold. Shares: low 0.6, likely 1, high 1, of what the replay leaves with the host
    slower beside workers (scenario data_in_workers): in two recorded fixes of ResNet-50 the step got shorter by 0.6
    and 0.7 of this time. Workers needed = time of fetching / time of the step outside of it, 2 to 16.

What to try
    num_workers, with persistent_workers and pin_memory; faster transforms if many workers would be needed.

References
    https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from typing import Any

from traceq.common.units import duration, share
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.inputs import MOST_WORKERS, busiest, input_facts, per_fetch, workers_needed
from traceq.diagnosis.rules.shared.wording import part, per_step
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Idle time under in-process fetches."""
    facts = input_facts(subject)
    workers = workers_needed(facts)
    limit = " Even these will not keep up: make the transforms cheaper as well." if workers == MOST_WORKERS else ""
    transforms = part(facts["transform_ns"], facts["fetch_ns"])
    return {
        "fix": (
            f"The loader works in the training process: a fetch takes {per_fetch(facts)}, and the GPU idles "
            f"{per_step(subject, claim.claimed_ns)} (a step takes {duration(subject.step_ns)}) meanwhile. Let worker processes "
            f"make the batches: DataLoader(..., num_workers={workers}, persistent_workers=True, pin_memory=True). "
            f"{workers} workers keep up if a batch costs one of them what it costs now; try twice as many as well."
            f"{limit} {_of_transformers(subject, workers)}{busiest(subject, facts)}"
            f"{f'PyTorch operators on the training thread take {share(transforms)} of it.' if transforms else ''}"
        ).rstrip(),
    }


def _of_transformers(subject: Subject, workers: int) -> str:
    """A pipeline of Hugging Face makes its loader itself, and its processors work on the host, the slow ones in NumPy."""
    if not any(str(row["name"]).startswith("transformers/") for row in subject.ask("input_work")):
        return ""
    return (
        f"In a pipeline of Transformers that is pipe(inputs, num_workers={workers}); processors made with "
        "AutoImageProcessor.from_pretrained(..., use_fast=True) take less time. "
    )
