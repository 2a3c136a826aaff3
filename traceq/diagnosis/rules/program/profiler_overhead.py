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
from collections.abc import Iterator

from traceq.claims.advice import Advice
from traceq.claims.subject import Subject
from traceq.rules.shared.wording import names

# What the names of the profiler's work tell of what asked for it, and how not to have it inside steps.
_FEATURES = (
    (
        "flush",
        "Full buffers of records were written out: a shorter capture, or fewer kinds of activity, fills fewer of them.",
    ),
    (
        "initiali[sz]|TLS|Chunk|Resource|Buffer Request|dlopen",
        "Tracing was being set up: begin the capture after warm-up ({later}).",
    ),
    ("instrument", "Code was patched for tracing when it was first used: begin the capture after warm-up ({later})."),
    ("backtrace|stack", "Stacks were recorded with calls: {no_stacks}."),
    ("module load|lazy", "Code was loaded when it was first used: run all of the step once before the capture."),
)
_LATER = {
    "nsys": "nsys profile --capture-range=cudaProfilerApi, with torch.cuda.profiler.start() in the program",
    "chrome": "schedule=torch.profiler.schedule(wait=5, warmup=3, active=5)",
}
_NO_STACKS = {"nsys": "nsys profile --cudabacktrace=none", "chrome": "profile(with_stack=False, profile_memory=False)"}


def profiler_overhead(subject: Subject) -> Iterator[Advice]:
    """All of idle_profiler."""
    subject.needs("gpu", "steps")
    claim = subject.claim("profiler_overhead", low=1.0)
    if claim is None:
        return
    worst = subject.worst(claim)
    kind = "nsys" if subject.format == "nsys" else "chrome"
    seen = " ".join(str(row["name"]) for row in worst)
    hints = [text for pattern, text in _FEATURES if re.search(pattern, seen, re.IGNORECASE)]
    fix = " ".join(
        [
            f"Leave this time out of what is judged: without the profiler it is not there (mostly: {names(worst[:3])}).",
            *(hint.format(later=_LATER[kind], no_stacks=_NO_STACKS[kind]) for hint in hints),
        ]
    )
    yield Advice(
        claim,
        fix=fix,
        confidence="high",
        reason="The profiler records this time as its own.",
        wrong_if="The step takes as long without the profiler.",
        is_rest=True,
    )
