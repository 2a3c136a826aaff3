"""Some steps take far longer than the others.

What it finds
    Outlier steps, or a long tail of step times, what these steps have more of than the usual ones, and whether they
    come at regular intervals.

Why it matters
    A mean hides them. In a job of many ranks, a slow step on one rank is a slow step on all of them, and anything
    that happens regularly (a log, a checkpoint, garbage collection) has one place in the program.

How it is measured
    Counted steps above the median plus 5 median absolute deviations and at least 1.25 medians, among at least 4; or,
    among at least 10, those of 1.5 medians and more (guides for serving call a tail of p99 / p50 = 1.5 long).
    Steps of a server that compute prompts are left out: they are as long as their prompts (serving_step).
    The last step of a trace is left out when it lasts to the end of its GPU work, which other steps leave to the
    next. What they have more of is the ledger (time_ledger; host_ledger without a GPU) of each less the mean of the
    other steps; without a GPU, the innermost range or Python function that is longer by most of that is named. This is
    a remark, not a finding: other rules claim this time by its causes. The excess must be at least 1 % of the time in
    all.

What to try
    Look at the named slice in that step; make rare work asynchronous, or do it outside the measured loop.

References
    https://docs.pytorch.org/docs/stable/profiler.html
    https://docs.nvidia.com/nsight-systems/UserGuide/index.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from traceq.common.units import duration, share
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.rules.shared.wording import cut_name
from traceq.diagnosis.subject import Subject

MOST_NAMED = 3
ALL_ROWS = 1_000_000
SHOWN_ROWS = 10


def judge(subject: Subject) -> Iterator[Remark]:
    """Yield a remark on outlier steps and what they have more of."""
    subject.needs("steps", "several_steps")
    limits = subject.thresholds("tail_latency")
    rows = subject.ask("tail_latency", most_rows=ALL_ROWS)
    if not rows or rows[0]["all_excess_share"] < limits["worth"]:
        return
    steps = sorted({row["step"] for row in rows})
    slowest = rows[0]
    yield Remark(
        text=(
            f"{_count_slow_steps(steps, slowest['steps'])} {duration(slowest['dur'])}, the others "
            f"{duration(slowest['usual_ns'])} on average (p99 / p50 = {slowest['p99_over_p50']:.2f}); the "
            f"excess is {share(slowest['all_excess_share'])} of all time. {_describe_excess(rows)}"
            f"{_describe_distance(steps, limits['regular'])}{_describe_last_step(subject, slowest)}"
        ),
        query="tail_latency",
        fix=_advise_fix(rows, limits["most"]),
        settings={"most_rows": SHOWN_ROWS},
        rows=rows[:SHOWN_ROWS],
    )


def _count_slow_steps(steps: Sequence[int], of: int) -> str:
    named = (
        f"number{'s'[: len(steps) > 1]} "
        + ", ".join(str(step) for step in steps[:MOST_NAMED])
        + (", ..." if len(steps) > MOST_NAMED else "")
    )
    return f"{len(steps)} of {of} steps ({named}) {'takes' if len(steps) == 1 else 'take up to'}"


def _describe_excess(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the categories that slow steps have most more of, with the mean excess per slow step."""
    total: Counter[str] = Counter()
    for row in rows:
        if row["category"] is not None:
            total[row["category"]] += row["change_ns"]
    steps = len({row["step"] for row in rows})
    parts = [
        f"{_name_category(category)} (+{duration(ns / steps)} a step)" for category, ns in total.most_common(MOST_NAMED)
    ]
    those = "It has" if steps == 1 else "They have"
    return f"{those} more of {', '.join(parts)}." if parts else "No category of the ledger stands out."


def _name_category(category: str) -> str:
    """Return the name of a category of the ledger; words for one of the host."""
    kind = category.removeprefix("host_")
    if kind == category:
        return category
    return "host time with nothing recorded" if kind == "none" else f"host time in {kind}"


def _describe_last_step(subject: Subject, row: Mapping[str, Any]) -> str:
    if row["steps"] == subject.steps:
        return ""
    return " The last step is not compared, because it lasts to the end of its GPU work."


def _describe_distance(steps: Sequence[int], several: float) -> str:
    distances = {later - earlier for earlier, later in pairwise(steps)}
    if len(steps) < several or len(distances) != 1 or distances == {1}:
        return ""
    return f" They come every {distances.pop()} steps: look for something that the program does that often."


def _advise_fix(rows: Sequence[Mapping[str, Any]], most: float) -> str:
    """Return where to look: at the slice around one piece of idle (or host) time that is the share `most` of a step's change.

    Without one, at the slowest step in the timeline.
    """
    named = next((row for row in rows if row["inside"] and row["inside_ns"] >= most * row["change_ns"]), None)
    if named is None:
        return f"Compare step {rows[0]['step']} with its neighbours in the timeline."
    begins = f"{duration(named['inside_begins_ns'])} after the step's start"
    if str(named["category"]).startswith("host_"):
        return (
            f"In step {named['step']} '{cut_name(named['inside'])}' takes {duration(named['inside_ns'])} longer than usual "
            f"({begins}): look there, and in other ranks if it waits for them."
        )
    return (
        f"In step {named['step']} the GPU idles for {duration(named['inside_ns'])} without a break around "
        f"'{cut_name(named['inside'])}' ({named['category']}, {begins}): take that out of the "
        "loop, do it rarely, or do it in the background."
    )
