"""The words of a comparison: the verdict, what the change is made of, and what was compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from traceq.analysis.categories import OF_HOST
from traceq.common.units import change, change_share, duration
from traceq.reports.charts import waterfall
from traceq.reports.comparison.job import compose_job, rank_title
from traceq.reports.comparison.parts import compose_counts, compose_cut, compose_inside, compose_kernels
from traceq.reports.comparison.sides import compose_compared, compose_findings, shorten_reason
from traceq.reports.comparison.verdict import describe_interval, other_causes, unit_name, verdict_sentence
from traceq.reports.comparison.words import both_sides, compose_knobs, format_confidence, format_interval, verdict_block
from traceq.reports.document import (
    Block,
    Flame,
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
from traceq.reports.flame import FlameDifference
from traceq.reports.timeline import Timeline
from traceq.runs.compare.causes import UNTOLD
from traceq.runs.compare.comparison import Cause, Change, Comparison, Side

_TAKEN_APART = 0.03
_MOST_TAKEN_APART = 5


class ComparisonDrawings(NamedTuple):
    """Drawings of a page: the typical step of each side, and the call paths of both, of `rank` if they are jobs."""

    timelines: Sequence[Timeline] = ()
    flame: FlameDifference | None = None
    rank: int | None = None


NO_DRAWINGS = ComparisonDrawings()


def compose_comparison(
    comparison: Comparison, top: int, drawings: ComparisonDrawings = NO_DRAWINGS, *, draws: bool = False
) -> Iterator[Block]:
    """Yield the whole report of traceq compare, with at most `top` rows in each table.

    The `drawings` are shown only if `draws`, for formats that show charts.
    """
    yield Heading(1, ("traceq compare",))
    title = (*_name_files(comparison.base), " (base) against ", *_name_files(comparison.new), " (new)")
    yield Heading(2, title, anchor="comparison")
    yield verdict_block(comparison, verdict_sentence(comparison))
    yield from map(Paragraph, other_causes(comparison))
    yield from _compose_reasons(comparison)
    yield from compose_knobs(comparison.made_with)
    yield from _compose_kinds(comparison)
    if comparison.job is not None:
        yield from compose_job(comparison, comparison.job, top)
    if comparison.change is not None:
        yield from _compose_overview(comparison, comparison.change)
    if comparison.job is not None and comparison.of_rank is not None:
        yield Heading(3, (rank_title(comparison.job),), anchor="rank")
        yield verdict_block(comparison.of_rank, verdict_sentence(comparison.of_rank))
        yield from map(Paragraph, other_causes(comparison.of_rank))
    yield from _compose_parts(comparison.of_rank or comparison, top)
    if draws and drawings.flame is not None:
        of_rank = "" if drawings.rank is None or comparison.job is None else f", rank {drawings.rank}"
        yield Heading(3, (f"Time per step by call path, and what changed{of_rank}",), anchor="flame")
        yield Flame(drawings.flame)
    if draws and drawings.timelines:
        yield Heading(3, ("Typical steps over time, to one scale",), anchor="timelines")
        yield from map(Tracks, drawings.timelines)
    yield from compose_compared(comparison)


def _compose_parts(comparison: Comparison, top: int) -> Iterator[Block]:
    """Yield what the change of a step is made of: categories, kernels, operators, phases and counts, at most `top` rows each.

    Findings that only one side has come last. `comparison` is the comparison of one rank if the sides are jobs.
    """
    if comparison.change is not None:
        yield from _compose_causes(comparison, comparison.change, top)
        yield from compose_kernels(comparison, top)
        yield from compose_cut("By operator", "operator", comparison.operators, top)
        yield from compose_cut("By phase", "phase", comparison.phases, top)
        yield from compose_counts(comparison.counts)
    yield from compose_findings(comparison)


def _name_files(side: Side) -> Spans:
    """Return the name of the side's first file and the number of the others, as "a.json and 2 more"; "nothing" without runs."""
    if not side.runs:
        return ("nothing",)
    first = Name(side.runs[0].file)
    return (first,) if len(side.runs) == 1 else (first, f" and {len(side.runs) - 1} more")


def _compose_reasons(comparison: Comparison) -> Iterator[Block]:
    """Yield what limits the verdict: obstacles to comparing, the first other reason, and assumptions.

    Also yield the measured change if there is no verdict, and a warning if mean and typical step disagree.
    """
    for obstacle in comparison.obstacles:
        yield Warn(("The two sides cannot be compared: ", *shorten_reason(obstacle), "."))
    others = [reason for reason in comparison.reasons if reason not in comparison.obstacles]
    if others and comparison.verdict != "cannot tell":
        yield Paragraph((f"{others[0][0].upper()}{others[0][1:]}.",))
    yield from (Paragraph((f"{assumption[0].upper()}{assumption[1:]}.",)) for assumption in comparison.assumptions)
    total, other = comparison.change, comparison.other
    if comparison.verdict == "cannot tell" and total is not None:
        of = "a step" if unit_name(comparison) == "step" else f"for the {unit_name(comparison)}"
        yield Paragraph(
            (
                "Measured, without a verdict: ",
                f"{duration(total.base_ns)} against {duration(total.new_ns)} {of}, ",
                f"{change(total.delta_ns)} ({change_share(total.share)}); {describe_interval(comparison, total)}.",
            )
        )
    if total is not None and other is not None and _do_disagree(comparison, total, other):
        yield Warn((_describe_disagreement(comparison, total, other),))


def _compose_kinds(comparison: Comparison) -> Iterator[Block]:
    """Yield a table of the kinds of steps of a server (prefill, decode), each with its change and verdict."""
    if not comparison.kinds:
        return
    yield Paragraph(
        ("Server steps are compared with steps of the same kind; the rest is about ", Name(comparison.kind or ""), ".")
    )
    rows = [
        (
            Name(kind.kind),
            f"{kind.base_steps} / {kind.new_steps}",
            *both_sides(kind.change),
            format_interval(kind.change),
            kind.verdict,
        )
        for kind in comparison.kinds
        if kind.change is not None
    ]
    title = f"{format_confidence(comparison.level)} interval"
    yield Table(("kind", "steps", "base", "new", "change", title, "verdict"), tuple(rows), text_columns=(0, 6))


def _do_disagree(comparison: Comparison, total: Change, other: Change) -> bool:
    """Return whether the other statistic (mean or typical step) changed significantly and against the verdict on `total`.

    `other` is its change. It is against the verdict if the verdict tells no change, or a change with the other sign.
    """
    if other.interval_ns is None or other.interval_ns[0] <= 0 <= other.interval_ns[1] or other.p is None:
        return False
    matters = abs(other.delta_ns) >= comparison.floor_share * other.base_ns and other.p <= comparison.level
    is_silent = comparison.verdict == "no change" or (comparison.verdict == "cannot tell" and comparison.comparable)
    return matters and (is_silent or other.delta_ns * total.delta_ns < 0)


def _describe_disagreement(comparison: Comparison, total: Change, other: Change) -> str:
    """Return the warning that the other statistic's change differs from the judged one's, and which option shows its causes."""
    names = {"typical": "the typical step", "mean": "the mean of all steps"}
    says = "goes the other way" if other.delta_ns * total.delta_ns < 0 else "changed, but the other did not"
    return (
        f"{names[other.statistic].capitalize()} {says}: {change(other.delta_ns)} "
        f"({change_share(other.share)}), {describe_interval(comparison, other)}. A few much longer steps cause "
        f"that; --by {other.statistic} shows what they are made of."
    )


def _compose_overview(comparison: Comparison, total: Change) -> Iterator[Block]:
    """Yield the waterfall chart of the causes, and a table of the step on both sides: mean, typical, median, p95, longest."""
    if waterfall.has_data(comparison):
        yield Picture("waterfall", waterfall.describe(comparison), partial(waterfall.draw, comparison))
    rows = [
        _make_row(each.statistic, each.base_ns, each.new_ns) for each in (total, comparison.other) if each is not None
    ]
    for name, quantile in (("median", 0.5), ("p95", 0.95), ("longest", 1.0)):
        both = [_step_quantile(side, quantile) for side in (comparison.base, comparison.new)]
        rows.append(_make_row(name, both[0], both[1]))
    yield Table(("step", "base", "new", "change", "in per cent"), tuple(rows))


def _make_row(name: str, base: float, new: float) -> tuple[str, ...]:
    """Return the table cells for a step's length in ns: name, base, new, difference, and difference as a share of the base."""
    return (
        name,
        duration(base),
        duration(new),
        change(new - base),
        change_share((new - base) / base if base else None),
    )


def _step_quantile(side: Side, quantile: float) -> int:
    """Return the quantile (0..1) of the durations of all counted steps of the side's runs, ns."""
    durations = [step.dur for run in side.runs for step in run.counted]
    return round(float(np.quantile(durations, quantile)))


def _compose_causes(comparison: Comparison, total: Change, top: int) -> Iterator[Block]:
    """Yield the section on the change by category: a table of all categories with their sum, then the large ones in detail."""
    yield Heading(3, ("What the change is made of",), anchor="causes")
    yield Paragraph((f"{_name_ledger(comparison)} The changes add up exactly to that of the step.",))
    rows: list[tuple[str, ...]]
    rows = [(Literal(cause.category), *both_sides(cause), format_interval(cause)) for cause in comparison.causes]
    rows.append(("sum", *both_sides(total), format_interval(total)))
    title = f"{format_confidence(comparison.level)} interval"
    yield Table(("category", "base", "new", "change", title), tuple(rows))
    for cause in _choose_causes(comparison, total):
        yield from compose_inside(cause, top, format_confidence(comparison.level))


def _name_ledger(comparison: Comparison) -> str:
    """Return the sentence before the table of categories: whether they are about the GPU or the training thread, or unknown."""
    categories = {cause.category for cause in comparison.causes}
    if any(category.startswith(OF_HOST) for category in categories):
        return "Where a step's time goes on the training thread, on both sides: no GPU works in these runs."
    if categories <= {UNTOLD}:
        return "Where a step's time goes is not known: the runs have no ledger that both sides share."
    return "Where a step's time goes on the GPU, on both sides."


def _choose_causes(comparison: Comparison, total: Change) -> list[Cause]:
    """Return the categories to show in detail: at most 5, in the order of the comparison.

    Each changed by at least 3 % of the step's change, and by half the least share of a step that counts as a change.
    """
    least = max(_TAKEN_APART * abs(total.delta_ns), comparison.floor_share * total.base_ns / 2, 1)
    found = [cause for cause in comparison.causes if abs(cause.delta_ns) >= least and cause.parts]
    return found[:_MOST_TAKEN_APART]
