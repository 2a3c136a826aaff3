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

from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.inputs import busiest, input_facts, per_fetch
from traceq.rules.shared.wording import cut, per_step
from traceq.units import share


def idle_data(subject: Subject) -> Iterator[Advice]:
    """What is left of idle_data."""
    subject.needs("gpu", "steps", "fetches")
    claim = subject.claim("idle_data", low=0.3, likely=1.0)
    if claim is None:
        return
    facts = input_facts(subject)
    name = cut(subject.worst(claim)[0]["name"])
    length = f", a fetch takes {per_fetch(facts)}" if facts["fetches"] else ""
    yield Advice(
        claim,
        fix=(
            f"The GPU idles {per_step(subject, claim.claimed_ns)} ({share(claim.claimed_ns / subject.step_ns)}) while "
            f"the host fetches from {name}{length}. Make batches in worker processes and ahead of time: "
            "DataLoader(..., num_workers=4, prefetch_factor=4, persistent_workers=True, pin_memory=True). "
            f"{busiest(subject, facts)}A capture with profile(with_stack=True), or nsys profile --trace=osrt, tells what it "
            "waits for."
        ),
        confidence="medium",
        reason="The range is named as fetching; what limits it is not known.",
        wrong_if="A run on random batches made once on the GPU has steps as long as these.",
        is_rest=True,
    )
