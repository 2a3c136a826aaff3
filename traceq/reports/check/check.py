"""The words of a check: the table of budgets, those that fail first, and why they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import in_words
from traceq.common.text import shortened
from traceq.common.units import change, change_share, count, duration, some
from traceq.reports.check.words import label, limits, measured, reason, sentence
from traceq.reports.comparison.job import in_short
from traceq.reports.comparison.words import both_sides, confidence, interval
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Items,
    Literal,
    Name,
    Outcome,
    Paragraph,
    Query,
    Spans,
    Table,
    Verdict,
    table,
)
from traceq.runs.budgets.budget import Check, Judged, State
from traceq.runs.compare.comparison import Change, Comparison
from traceq.runs.compare.side import explain_left_out
from traceq.runs.run import Run

_ORDER = ("fail", "cannot judge", "pass")
_OUTCOMES: dict[State, Outcome] = {"fail": "problem", "cannot judge": "cannot tell", "pass": "healthy"}
_SHOUTED = {"fail": "FAIL", "cannot judge": "cannot judge", "pass": "pass"}
_LISTED = 5
_REASON = 1_000


def compose_check(check: Check) -> Iterator[Block]:
    """What became of every budget, and what was checked."""
    yield Heading(1, ("traceq check",))
    yield Verdict((sentence(check),), _OUTCOMES[check.state], label="Check")
    ordered = sorted(check.judged, key=lambda each: _ORDER.index(each.state))
    yield table(
        ordered,
        {
            "result": lambda each: _SHOUTED[each.state],
            "budget": lambda each: Name(label(each.budget)),
            "measured": measured,
            "limit": lambda each: limits(each.budget),
        },
        text=(0, 1),
    )
    for each in ordered:
        if each.state != "pass":
            yield from _why(each, check.path)
    if check.comparison is not None and check.baseline is not None:
        yield from _comparison(check.comparison, check.baseline)
    yield Heading(2, ("What was checked",))
    yield Facts(tuple(_run(run) for run in check.runs[:_LISTED]))
    if len(check.runs) > _LISTED:
        yield Paragraph((f"... and {count(len(check.runs) - _LISTED)} more.",))
    yield from _lost(check.runs)


def _why(judged: Judged, path: str | None) -> Iterator[Block]:
    yield Heading(3, (f"{_SHOUTED[judged.state]}: ", Name(label(judged.budget))))
    said = reason(judged)
    if said:
        yield Paragraph((shortened(said[:1].upper() + said[1:], _REASON), "."))
    if judged.state == "fail":
        yield Paragraph((f"Measured {measured(judged)}; the limit is: {limits(judged.budget)}.", *_explained(judged)))
    if path is not None and judged.budget.line is not None:
        yield Paragraph(("Set in ", Name(path), f", line {judged.budget.line}."))
    if judged.query is not None:
        yield Query(judged.query)


def _explained(judged: Judged) -> Spans:
    if judged.budget.table != "findings" or judged.budget.name == "any":
        return ()
    return (" ", Literal(f"traceq explain {judged.budget.name}"), " says what to try.")


def _comparison(comparison: Comparison, baseline: str) -> Iterator[Block]:
    yield Heading(2, ("Against the baseline ", Name(baseline)))
    rows: list[tuple[str, Spans]] = [("verdict", (comparison.verdict,))]
    if comparison.change is not None:
        rows += _changed(comparison.change, comparison.level)
    if comparison.job is not None:
        rows += in_short(comparison.job)
    yield Facts(tuple(rows))
    reasons = (*comparison.obstacles, *(each for each in comparison.reasons if each not in comparison.obstacles))
    if reasons:
        yield Items(tuple((shortened(each, _REASON),) for each in reasons[:_LISTED]))
    if comparison.change is not None and comparison.change.delta_ns and comparison.verdict != "no change":
        yield from _causes(comparison)
    yield Paragraph((Literal("traceq compare"), " says more."))


def _changed(total: Change, level: float) -> list[tuple[str, Spans]]:
    rows: list[tuple[str, Spans]] = [
        (f"{total.statistic} step", (f"{duration(total.base_ns)} before, {duration(total.new_ns)} now",)),
        ("change", (f"{change(total.delta_ns)} ({change_share(total.share)})",)),
    ]
    if total.interval_ns is not None:
        rows.append((f"{confidence(level)} interval", (interval(total),)))
    if total.detectable_ns:
        rows.append(("would be seen from", (duration(total.detectable_ns),)))
    return rows


def _causes(comparison: Comparison) -> Iterator[Block]:
    """The categories that changed most, the way the step changed first."""
    found = sorted(comparison.causes, key=lambda cause: (-abs(cause.delta_ns), cause.category))
    changed = [each for each in found[:_LISTED] if each.delta_ns]
    rows = [(Literal(each.category), in_words(each.category), *both_sides(each)) for each in changed]
    if rows and comparison.job is not None:
        yield Paragraph(("By category, the mean of all ranks:",))
    if rows:
        yield Table(("category", "what it is", "before", "now", "change"), tuple(rows), text_columns=(0, 1))


def _run(run: Run) -> tuple[str, Spans]:
    facts = ", ".join(("", some(len(run.counted), "step"), *explain_left_out([run])))
    if run.rank is not None:
        facts += f", rank {run.rank}"
    gpu: Spans = (", ", Name(run.device_name)) if run.device_name else ()
    return "run", (Name(run.file), facts, *gpu)


def _lost(runs: Sequence[Run]) -> Iterator[Block]:
    lost = [(Name(run.file), ": ", shortened(each, _REASON)) for run in runs for each in run.lost]
    if lost:
        yield Paragraph(("The traces are not complete:",))
        yield Items(tuple(lost[:_LISTED]))
