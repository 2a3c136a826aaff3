"""GPU idle: the host fetches input.

What it finds
    Time in which the GPU has nothing to do because the host fetches the next batch, as far as no more specific rule
    says why that takes so long.

Why it matters
    The GPU waits for every nanosecond of it.

How it is measured
    The pieces of cause idle_data in the counted steps (idle_piece); fetches are told by their names (data_fetch).
    Shares: low 0.3 (cores or storage may be the limit), likely 1, high 1.

What to try
    A test with random batches made on the GPU tells how fast training would be. Then: workers, prefetching, cheaper
    transforms.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
    https://docs.pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from typing import Any

from traceq.common.units import share
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.inputs import busiest, input_facts, per_fetch
from traceq.diagnosis.rules.shared.wording import cut, per_step
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What is left of idle_data."""
    facts = input_facts(subject)
    name = cut(subject.worst(claim)[0]["name"])
    length = f", a fetch takes {per_fetch(facts)}" if facts["fetches"] else ""
    return {
        "fix": f"The GPU idles {per_step(subject, claim.claimed_ns)} ({share(claim.claimed_ns / subject.step_ns)}) while "
        f"the host fetches from {name}{length}. Make batches in worker processes and ahead of time: "
        "DataLoader(..., num_workers=4, prefetch_factor=4, persistent_workers=True, pin_memory=True). "
        f"{busiest(subject, facts)}A capture with {subject.way('fetch_work', 'calls of the operating system')} tells "
        "what it waits for.",
    }
