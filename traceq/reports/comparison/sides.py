"""The words about what was compared: findings that come and go, the runs of both sides, and how."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.text import shortened
from traceq.common.units import count, rate, share
from traceq.reports.comparison.words import list_capture, name_gpus
from traceq.reports.document import Block, Facts, Heading, Items, Literal, Name, Paragraph, Spans
from traceq.reports.savings import saving_text
from traceq.runs.compare.comparison import Comparison, Side
from traceq.runs.run import FindingKept

_LISTED = 5
_TEXT_LIMIT = 400


def shorten_reason(text: str) -> Spans:
    """Return the text, cut to 400 characters; a reason may have long file names and shapes from a trace."""
    return (shortened(text, _TEXT_LIMIT),)


def compose_findings(comparison: Comparison) -> Iterator[Block]:
    """Yield a list of the findings that only one side has, at most 5 of each side; nothing if there are none."""
    if not comparison.findings_new and not comparison.findings_gone:
        return
    yield Heading(3, ("Findings that are new or gone",))
    yield Items(
        (
            *(("gone: ", *_describe_finding(finding)) for finding in comparison.findings_gone[:_LISTED]),
            *(("new: ", *_describe_finding(finding)) for finding in comparison.findings_new[:_LISTED]),
        )
    )


def _describe_finding(finding: FindingKept) -> Spans:
    """Return a finding in words: title, rule, saving per step and confidence."""
    saves = "saves" if finding.only_bounds else "likely saves"
    return (
        f"{finding.title} (",
        Literal(finding.rule),
        f"), {saves} {saving_text(finding)} per step, {finding.confidence} confidence",
    )


def compose_compared(comparison: Comparison) -> Iterator[Block]:
    """Yield the section on what was compared: the runs of both sides, remarks that limit belief, and the statistical method."""
    yield Heading(3, ("What was compared",))
    for name, side in (("base", comparison.base), ("new", comparison.new)):
        if side.runs:
            yield Heading(4, (name,))
            yield Facts(tuple(_list_facts(side)))
    if comparison.remarks:
        yield Paragraph(("Check these before you trust a difference:",))
        yield Items(tuple(shorten_reason(remark) for remark in comparison.remarks))
    yield Paragraph((_describe_method(comparison),))


def _list_facts(side: Side) -> Iterator[tuple[str, Spans]]:
    """Yield (label, text) of a side: its files, GPUs, and capture, steps and work per step; files and GPUs are of all runs."""
    first = side.runs[0]
    files = [Name(run.file) for run in side.runs[:_LISTED]]
    yield "files", tuple(span for number, file in enumerate(files) for span in ((", ", file) if number else (file,)))
    if len(side.runs) > _LISTED:
        yield "and", (f"{len(side.runs) - _LISTED} more",)
    yield "GPU", name_gpus(side.runs)
    yield from list_capture(first)
    found_by = Name(first.step_source) if first.step_source else "nothing"
    yield "steps", (f"{count(side.counted)} counted, {count(side.excluded)} left out; found by ", found_by)
    for key, value in first.payload.items():
        yield f"{key} per step", (rate(value),)


def _describe_method(comparison: Comparison) -> str:
    """Return sentences on the method: how a step is averaged, how the interval and p are drawn, and what counts as a change."""
    total = comparison.change
    statistic = total.statistic if total else "typical"
    what = (
        "A typical step is the mean of the counted steps without the shortest and the longest quarter of each run"
        if statistic == "typical"
        else "A step is the mean of all counted steps of each run"
    )
    return (
        f"{what}; all runs of a side count the same. The interval comes from resampling steps and runs, p from assigning "
        f"steps to the sides at random. A change counts from {share(comparison.floor_share)} of the base, at p of "
        f"{comparison.level:g} or less."
    )
