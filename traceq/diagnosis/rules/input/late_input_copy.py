"""Input is copied to the GPU late.

What it finds
    Copies of a batch to the GPU that training waits for: from pageable memory, or by a call that holds the host until
    the copy is done, while nothing else runs.

Why it matters
    A copy from pageable memory is slow, because the driver copies to pinned memory first, and the host can launch
    nothing meanwhile. From pinned memory it runs beside the kernels of the step before.

How it is measured
    Copies at the position data, category copy_h2d, that are pageable or blocking (copy_overlap): the time in which
    nothing else runs (busy_piece). And idle time (idle_piece) in the calls that wait for them (the copy's own, or the
    next on the thread within 20 us or in the same operator) and after them, the latter no longer than the call
    waited: so far ahead would the host be. Shares: low 0.4 (pinned memory alone about doubles the rate), likely 1,
    high 1.

What to try
    pin_memory=True, non_blocking=True, and copying one batch ahead on a stream of its own.

References
    https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#pinned-memory
"""

from __future__ import annotations

from typing import Any

from traceq.common.units import rate, size
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Exposed input copies that are pageable or blocking."""
    worst = subject.worst(claim)[0]
    pageable = worst["is_pageable"]
    first = (
        "Let the loader pin its batches, DataLoader(..., pin_memory=True), or pin a buffer once and reuse it, and copy"
        if pageable is not False
        else "The memory is pinned, but the call waits: copy"
    )
    return {
        "fix": f"Batches are copied {'from pageable memory' if pageable else 'by a blocking call'}"
        f"{_how_much(worst)}, and the GPU does nothing else for {per_step(subject, claim.claimed_ns)}. {first} with "
        "batch = batch.to(device, non_blocking=True). To hide the copy behind the step before, fetch and copy the next "
        "batch right after launching this one, with torch.cuda.stream(copy_stream), and let the current stream wait for "
        "it: torch.cuda.current_stream().wait_stream(copy_stream).",
        "confidence": "high" if pageable is not None else "medium",
        "reason": "The profiler records the kind of memory, and nothing runs beside these copies."
        if pageable is not None
        else "The call is known to hold the host; the kind of memory is not in the trace.",
        "title": "Input is copied to the GPU from pageable memory" if pageable else None,
    }


def _how_much(row: dict[str, Any]) -> str:
    """Size and rate of a copy, as far as known."""
    if row["bytes"] is None:
        return ""
    speed = f" at {rate(row['bandwidth'])} GB/s" if row["bandwidth"] else ""
    return f" ({size(row['bytes'])}{speed})"
