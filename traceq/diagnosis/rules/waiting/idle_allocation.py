"""GPU idle: the host allocates memory.

What it finds
    Time in which the GPU has nothing to do because the host allocates, releases or pins memory, as far as no more
    specific rule says so.

Why it matters
    Such calls take from microseconds to seconds, and some wait for the GPU.

How it is measured
    The pieces of cause idle_allocation in the counted steps (idle_piece). Without steps that is mostly setting up.
    Shares: low 0.2 (some memory has to be allocated once), likely 1, high 1.

What to try
    Allocate and pin before the loop, and use the memory again.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.allocations import described
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What is left of idle_allocation."""
    found = subject.ask("allocation_facts")
    what = f": {described(subject, found)}" if found else ""
    where = (
        "No steps are marked, so that setting up counts as well: mark them (traceq.annotate) to see what the loop allocates. "
        if subject.is_whole_trace
        else ""
    )
    return {
        "fix": f"The GPU idles {per_step(subject, claim.claimed_ns)} while the host "
        f"allocates or pins memory{what}. {where}Allocate before the loop and use the memory again; pin few large buffers, "
        "torch.empty(shape, pin_memory=True), once; in CUDA C++ use cudaMallocAsync.",
        "confidence": "low" if subject.is_whole_trace else "high",
        "reason": "Without steps nobody can tell the loop from setting up."
        if subject.is_whole_trace
        else "The calls are in the trace, and the GPU has nothing to do during them.",
    }
