"""The words of a comparison: the verdict, what the change is made of, and what was compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from traceq.analysis.categories import OF_HOST
from traceq.common.units import change, change_share, duration
from traceq.reports.charts import waterfall
from traceq.reports.comparison.job import in_the_job, of_rank_title
from traceq.reports.comparison.parts import cut, inside, kernels, numbers
from traceq.reports.comparison.sides import compared, findings, said
from traceq.reports.comparison.verdict import how_sure, others, unit, verdict
from traceq.reports.comparison.words import both_sides, boxed, confidence, interval, knobs
from traceq.reports.document import (
    Block,
    Heading,
    Literal,
    Name,
    Paragraph,
    Picture,
    Spans,
    Table,
    Tracks,
    Warn,
)
from traceq.reports.timeline import Timeline
from traceq.runs.compare.causes import UNTOLD
from traceq.runs.compare.comparison import Cause, Change, Comparison, Side

_TAKEN_APART = 0.03
_MOST_TAKEN_APART = 5


def compose_comparison(
    comparison: Comparison, top: int, timelines: Sequence[Timeline] = (), *, draws: bool = False
) -> Iterator[Block]:
    """The comparison, with at most `top` rows in each table; `timelines` are the typical step of either side."""
    yield Heading(1, ("traceq compare",))
    title = (*_files(comparison.base), " (base) against ", *_files(comparison.new), " (new)")
    yield Heading(2, title, anchor="comparison")
    yield boxed(comparison.verdict, verdict(comparison))
    yield from map(Paragraph, others(comparison))
    yield from _because(comparison)
    yield from knobs(comparison.made_with)
    yield from _kinds(comparison)
    if comparison.job is not None:
        yield from in_the_job(comparison, comparison.job, top)
    if comparison.change is not None:
        yield from _overview(comparison, comparison.change)
    if comparison.job is not None and comparison.of_rank is not None:
        yield Heading(3, (of_rank_title(comparison.job),), anchor="rank")
        yield boxed(comparison.of_rank.verdict, verdict(comparison.of_rank))
        yield from map(Paragraph, others(comparison.of_rank))
    yield from _made_of(comparison.of_rank or comparison, top)
    if draws and timelines:
        yield Heading(3, ("Typical steps over time, to one scale",), anchor="timelines")
        yield from map(Tracks, timelines)
    yield from compared(comparison)


def _made_of(comparison: Comparison, top: int) -> Iterator[Block]:
    """What the step is made of on both sides; of jobs that of one rank."""
    if comparison.change is not None:
        yield from _causes(comparison, comparison.change, top)
        yield from kernels(comparison, top)
        yield from cut("By operator", "operator", comparison.operators, top)
        yield from cut("By phase", "phase", comparison.phases, top)
        yield from numbers(comparison.counts)
    yield from findings(comparison)


def _files(side: Side) -> Spans:
    if not side.runs:
        return ("nothing",)
    first = Name(side.runs[0].file)
    return (first,) if len(side.runs) == 1 else (first, f" and {len(side.runs) - 1} more")


def _because(comparison: Comparison) -> Iterator[Block]:
    for obstacle in comparison.obstacles:
        yield Warn(("The sides cannot be compared as they are: ", *said(obstacle), "."))
    others = [reason for reason in comparison.reasons if reason not in comparison.obstacles]
    if others and comparison.verdict != "cannot tell":
        yield Paragraph((f"{others[0][0].upper()}{others[0][1:]}.",))
    yield from (Paragraph((f"{each[0].upper()}{each[1:]}.",)) for each in comparison.assumptions)
    total, other = comparison.change, comparison.other
    if comparison.verdict == "cannot tell" and total is not None:
        of = "a step" if unit(comparison) == "step" else f"for the {unit(comparison)}"
        yield Paragraph(
            (
                "Measured, without a verdict: ",
                f"{duration(total.base_ns)} against {duration(total.new_ns)} {of}, ",
                f"{change(total.delta_ns)} ({change_share(total.share)}); {how_sure(comparison, total)}.",
            )
        )
    if total is not None and other is not None and _disagree(comparison, total, other):
        yield Warn((_disagreement(comparison, total, other),))


def _kinds(comparison: Comparison) -> Iterator[Block]:
    """The kinds of steps of a server, each judged on its own."""
    if not comparison.kinds:
        return
    yield Paragraph(
        ("Steps of a server are compared with their like; what follows is about ", Name(comparison.kind or ""), ".")
    )
    rows = [
        (
            Name(each.kind),
            f"{each.base_steps} / {each.new_steps}",
            *both_sides(each.change),
            interval(each.change),
            each.verdict,
        )
        for each in comparison.kinds
        if each.change is not None
    ]
    title = f"{confidence(comparison.level)} interval"
    yield Table(("kind", "steps", "base", "new", "change", title, "verdict"), tuple(rows), text_columns=(0, 6))


def _disagree(comparison: Comparison, total: Change, other: Change) -> bool:
    """Whether the other statistic is sure of a change that matters and that this one does not show."""
    if other.interval_ns is None or other.interval_ns[0] <= 0 <= other.interval_ns[1] or other.p is None:
        return False
    matters = abs(other.delta_ns) >= comparison.floor_share * other.base_ns and other.p <= comparison.level
    is_silent = comparison.verdict == "no change" or (comparison.verdict == "cannot tell" and comparison.comparable)
    return matters and (is_silent or other.delta_ns * total.delta_ns < 0)


def _disagreement(comparison: Comparison, total: Change, other: Change) -> str:
    names = {"typical": "the typical step", "mean": "the mean of all steps"}
    says = "goes the other way" if other.delta_ns * total.delta_ns < 0 else "changed and the other did not"
    return (
        f"{names[other.statistic].capitalize()} {says}: {change(other.delta_ns)} "
        f"({change_share(other.share)}), {how_sure(comparison, other)}. A few steps that are much longer do that; "
        f"--by {other.statistic} says what they are made of."
    )


def _overview(comparison: Comparison, total: Change) -> Iterator[Block]:
    if waterfall.has_data(comparison):
        yield Picture("waterfall", waterfall.describe(comparison), partial(waterfall.draw, comparison))
    rows = [_row(each.statistic, each.base_ns, each.new_ns) for each in (total, comparison.other) if each is not None]
    for name, quantile in (("median", 0.5), ("p95", 0.95), ("longest", 1.0)):
        both = [_quantile(side, quantile) for side in (comparison.base, comparison.new)]
        rows.append(_row(name, both[0], both[1]))
    yield Table(("step", "base", "new", "change", "in per cent"), tuple(rows))


def _row(name: str, base: float, new: float) -> tuple[str, ...]:
    return (
        name,
        duration(base),
        duration(new),
        change(new - base),
        change_share((new - base) / base if base else None),
    )


def _quantile(side: Side, quantile: float) -> int:
    durations = [step.dur for run in side.runs for step in run.counted]
    return round(float(np.quantile(durations, quantile)))


def _causes(comparison: Comparison, total: Change, top: int) -> Iterator[Block]:
    yield Heading(3, ("What the change is made of",), anchor="causes")
    yield Paragraph((f"{_whose_time(comparison)} The changes add up to that of the step exactly.",))
    rows: list[tuple[str, ...]]
    rows = [(Literal(cause.category), *both_sides(cause), interval(cause)) for cause in comparison.causes]
    rows.append(("sum", *both_sides(total), interval(total)))
    title = f"{confidence(comparison.level)} interval"
    yield Table(("category", "base", "new", "change", title), tuple(rows))
    for cause in _worth_it(comparison, total):
        yield from inside(cause, top, confidence(comparison.level))


def _whose_time(comparison: Comparison) -> str:
    """Name the device or thread that the ledger is of."""
    categories = {cause.category for cause in comparison.causes}
    if any(each.startswith(OF_HOST) for each in categories):
        return "Where the time of a step goes on the training thread, on both sides: no GPU works in these runs."
    if categories <= {UNTOLD}:
        return "Where the time of a step goes is not known: the runs have no ledger that both sides share."
    return "Where the time of a step goes on the GPU, on both sides."


def _worth_it(comparison: Comparison, total: Change) -> list[Cause]:
    """The categories to be taken apart: those that changed by a part of the step that matters."""
    least = max(_TAKEN_APART * abs(total.delta_ns), comparison.floor_share * total.base_ns / 2, 1)
    found = [cause for cause in comparison.causes if abs(cause.delta_ns) >= least and cause.parts]
    return found[:_MOST_TAKEN_APART]
