"""GPU idle: the profiler's own work.

What it finds
    Time in which nothing runs on the GPU because the host does the profiler's own work: it sets up the tracing of
    CUDA, hands out and flushes buffers of records, patches code.

Why it matters
    A run without the profiler does not have it. It is part of the measured step, so that other shares look smaller
    than they are, and a comparison of two captures measures the captures.

How it is measured
    The pieces of cause idle_profiler in the counted steps (idle_piece), all of them: low, likely and high are 1, as
    all of it goes with the profiler. Sources that do not record their own overhead have none; it is then part of
    what it slowed down.

What to try
    Leave it out of what is judged. Begin the capture after warm-up, end it at the end of a step, and record less:
    no Python stacks, no memory, no calls of the operating system, no backtraces unless they are what is looked for.

References
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
    https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

import re
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import names
from traceq.diagnosis.subject import Subject

# What the names of the profiler's work tell of what asked for it, and how not to have it inside steps.
_FEATURES = (
    (
        "flush",
        "Full buffers of records were written out: a shorter capture, or fewer kinds of activity, fills fewer of them.",
    ),
    (
        "initiali[sz]|TLS|Chunk|Resource|Buffer Request|dlopen",
        "Tracing was being set up: begin the capture after warm-up{later}.",
    ),
    ("instrument", "Code was patched for tracing when it was first used: begin the capture after warm-up{later}."),
    ("backtrace|stack", "Stacks were recorded with calls: {no_stacks}."),
    ("module load|lazy", "Code was loaded when it was first used: run all of the step once before the capture."),
)


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """All of idle_profiler."""
    worst = subject.worst(claim)
    later = subject.way("early_work")
    no_stacks = subject.way("no_stacks", "record none")
    seen = " ".join(str(row["name"]) for row in worst)
    hints = [text for pattern, text in _FEATURES if re.search(pattern, seen, re.IGNORECASE)]
    fix = " ".join(
        [
            f"Leave this time out of what is judged: without the profiler it is not there (mostly: {names(worst[:3])}).",
            *(hint.format(later=f" ({later})" if later else "", no_stacks=no_stacks) for hint in hints),
        ]
    )
    return {
        "fix": fix,
    }
