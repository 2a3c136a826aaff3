"""A first step that warms up is counted.

What it finds
    A first counted step that takes far longer than the others, in a capture too short to exclude it by itself.

Why it matters
    Loading modules, tuning kernels and the first allocations happen once in a run, and in a capture of a few steps
    they are a large part of every mean. Findings then describe the start and not the training.

How it is measured
    The first counted step is longer than 1.5 times the median of the others, of which each is shorter than the first,
    with fewer than 10 counted steps (in more it moves little). Warm-up that traceq can tell is excluded
    (step.excluded) and not meant here.

What to try
    Capture later, or more steps: traceq excludes leading outliers of at least four steps.

References
    https://docs.pytorch.org/docs/stable/profiler.html
    https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.wording import time
from traceq.diagnosis.subject import Subject

FAR_LONGER = 1.5
MANY_STEPS = 10
LEAST_STEPS = 2


def judge(subject: Subject) -> Iterator[Remark]:
    """A first step that distorts the means."""
    subject.needs("steps")
    if subject.steps < LEAST_STEPS:
        raise CannotTell("a single counted step has no other to compare with; capture more steps")
    if subject.steps >= MANY_STEPS:
        raise NothingThere(f"{subject.steps} counted steps: one of them moves the means little")
    (first,) = subject.ask("warm_up_counted")
    if first["ratio"] <= FAR_LONGER or first["dur"] <= first["other_longest_ns"]:
        return
    calls = first["loading_and_allocating_calls"]
    seen = (
        f" {calls} calls in it load code or allocate memory, {time(first['loading_and_allocating_ns'])}."
        if calls
        else ""
    )
    yield Remark(
        text=(
            f"Step {first['step']} takes {time(first['dur'])}, {first['ratio']:.1f} times the median of the "
            "other "
            f"{first['other_steps']}. It makes the mean {time(first['mean_ns'])}; without it that is "
            f"{time(first['mean_without_ns'])}.{seen}"
        ),
        query="warm_up_counted",
        fix=subject.way("later_start", "Start the capture later."),
    )
