"""The words of a check: the table of budgets, those that fail first, and why they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import in_words
from traceq.common.text import shortened
from traceq.common.units import change, change_share, count, duration, some
from traceq.reports.check.words import describe_limits, explain_result, format_measured, name_budget, outcome_sentence
from traceq.reports.comparison.job import list_facts
from traceq.reports.comparison.words import both_sides, format_confidence, format_interval
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
    make_table,
)
from traceq.runs.budgets.budget import Check, JudgedBudget, State
from traceq.runs.compare.comparison import Change, Comparison
from traceq.runs.compare.side import explain_left_out
from traceq.runs.run import Run

_ORDER = ("fail", "cannot judge", "pass")
_OUTCOMES: dict[State, Outcome] = {"fail": "problem", "cannot judge": "cannot tell", "pass": "healthy"}
_SHOUTED = {"fail": "FAIL", "cannot judge": "cannot judge", "pass": "pass"}
_LISTED = 5
_REASON = 1_000


def compose_check(check: Check) -> Iterator[Block]:
    """Yield the report of a check: verdict, table of all budgets, a section on each that is not kept, comparison, runs."""
    yield Heading(1, ("traceq check",))
    yield Verdict((outcome_sentence(check),), _OUTCOMES[check.state], label="Check")
    ordered = sorted(check.judged, key=lambda each: _ORDER.index(each.state))
    yield make_table(
        ordered,
        {
            "result": lambda each: _SHOUTED[each.state],
            "budget": lambda each: Name(name_budget(each.budget)),
            "measured": format_measured,
            "limit": lambda each: describe_limits(each.budget),
        },
        text=(0, 1),
    )
    for each in ordered:
        if each.state != "pass":
            yield from _explain_result(each, check.path)
    if check.comparison is not None and check.baseline is not None:
        yield from _compose_comparison(check.comparison, check.baseline)
    yield Heading(2, ("What was checked",))
    yield Facts(tuple(_describe_run(run) for run in check.runs[:_LISTED]))
    if len(check.runs) > _LISTED:
        yield Paragraph((f"... and {count(len(check.runs) - _LISTED)} more.",))
    yield from _compose_lost(check.runs)


def _explain_result(judged: JudgedBudget, path: str | None) -> Iterator[Block]:
    yield Heading(3, (f"{_SHOUTED[judged.state]}: ", Name(name_budget(judged.budget))))
    said = explain_result(judged)
    if said:
        yield Paragraph((shortened(said[:1].upper() + said[1:], _REASON), "."))
    if judged.state == "fail":
        yield Paragraph(
            (
                f"Measured {format_measured(judged)}; the limit is: {describe_limits(judged.budget)}.",
                *_suggest_explain(judged),
            )
        )
    if path is not None and judged.budget.line is not None:
        yield Paragraph(("Set in ", Name(path), f", line {judged.budget.line}."))
    if judged.query is not None:
        yield Query(judged.query)


def _suggest_explain(judged: JudgedBudget) -> Spans:
    if judged.budget.table != "findings" or judged.budget.name == "any":
        return ()
    return (" ", Literal(f"traceq explain {judged.budget.name}"), " shows what to try.")


def _compose_comparison(comparison: Comparison, baseline: str) -> Iterator[Block]:
    yield Heading(2, ("Against the baseline ", Name(baseline)))
    rows: list[tuple[str, Spans]] = [("verdict", (comparison.verdict,))]
    if comparison.change is not None:
        rows += _list_change(comparison.change, comparison.level)
    if comparison.job is not None:
        rows += list_facts(comparison.job)
    yield Facts(tuple(rows))
    reasons = (*comparison.obstacles, *(reason for reason in comparison.reasons if reason not in comparison.obstacles))
    if reasons:
        yield Items(tuple((shortened(reason, _REASON),) for reason in reasons[:_LISTED]))
    if comparison.change is not None and comparison.change.delta_ns and comparison.verdict != "no change":
        yield from _compose_causes(comparison)
    yield Paragraph((Literal("traceq compare"), " says more."))


def _list_change(total: Change, level: float) -> list[tuple[str, Spans]]:
    rows: list[tuple[str, Spans]] = [
        (f"{total.statistic} step", (f"{duration(total.base_ns)} before, {duration(total.new_ns)} now",)),
        ("change", (f"{change(total.delta_ns)} ({change_share(total.share)})",)),
    ]
    if total.interval_ns is not None:
        rows.append((f"{format_confidence(level)} interval", (format_interval(total),)))
    if total.detectable_ns:
        rows.append(("would be seen from", (duration(total.detectable_ns),)))
    return rows


def _compose_causes(comparison: Comparison) -> Iterator[Block]:
    """Yield a table of the categories whose time changed most, the largest change first; nothing if none changed."""
    found = sorted(comparison.causes, key=lambda cause: (-abs(cause.delta_ns), cause.category))
    changed = [each for each in found[:_LISTED] if each.delta_ns]
    rows = [(Literal(cause.category), in_words(cause.category), *both_sides(cause)) for cause in changed]
    if rows and comparison.job is not None:
        yield Paragraph(("By category, mean of all ranks:",))
    if rows:
        yield Table(("category", "what it is", "before", "now", "change"), tuple(rows), text_columns=(0, 1))


def _describe_run(run: Run) -> tuple[str, Spans]:
    facts = ", ".join(("", some(len(run.counted), "step"), *explain_left_out([run])))
    if run.rank is not None:
        facts += f", rank {run.rank}"
    gpu: Spans = (", ", Name(run.device_name)) if run.device_name else ()
    return "run", (Name(run.file), facts, *gpu)


def _compose_lost(runs: Sequence[Run]) -> Iterator[Block]:
    lost = [(Name(run.file), ": ", shortened(each, _REASON)) for run in runs for each in run.lost]
    if lost:
        yield Paragraph(("The traces are not complete:",))
        yield Items(tuple(lost[:_LISTED]))
