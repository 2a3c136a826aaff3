"""Too few steps for statistics.

What it finds
    Captures with one or two counted steps.

Why it matters
    A single step may be the one with a checkpoint, or the first. Of two nobody can say which is usual. Savings are
    then those of these steps; medians, percentiles, outliers, warm-up and growth of memory cannot be told.

How it is measured
    Counted steps (step, those without a reason in excluded): fewer than 3. Captures without marked steps have a
    remark of their own.

What to try
    Capture 10 steps after 5 that are left out: enough for outliers, and small enough to open.

References
    https://docs.pytorch.org/docs/stable/profiler.html
    https://docs.pytorch.org/tutorials/recipes/recipes/profiler_recipe.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import percent, time
from traceq.diagnosis.subject import Subject

ENOUGH = 3


def judge(subject: Subject) -> Iterator[Remark]:
    """One or two counted steps."""
    if subject.is_whole_trace:
        raise NothingThere("nothing marks steps; see steps-not-marked")
    if subject.steps >= ENOUGH:
        return
    steps = subject.ask("few_steps")
    counted = [step["dur"] for step in steps if step["excluded"] is None]
    excluded = sorted({step["excluded"] for step in steps if step["excluded"] is not None})
    if len(counted) == 0:
        what = "No step is left to count"
    elif len(counted) == 1:
        what = f"One step counts ({time(counted[0])}): nothing says whether it is a usual one"
    else:
        spread = abs(counted[1] - counted[0]) / min(counted) if min(counted) else 0.0
        what = f"Two steps count ({time(counted[0])} and {time(counted[1])}, {percent(spread)} apart)"
    yield Remark(
        text=(
            f"{what}. Savings are those of what was captured; percentiles, outliers, warm-up and growth of memory "
            "cannot be told." + (f" Left out: {'; '.join(excluded)}." if excluded else "")
        ),
        query="few_steps",
        fix=f"Capture more steps: {subject.way('more_steps', 'at least ten')}.",
    )
