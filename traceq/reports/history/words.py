"""Words about quantities, reports and changes that the page of a history and the gate share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import change_share, duration, rate, share, size, some
from traceq.formats.made_with import unit_of, words_of
from traceq.runs.history.changed import COMMIT, FactChange
from traceq.runs.history.entry import HistoryReport
from traceq.runs.history.history import ExplainedChange
from traceq.runs.history.series import SeriesSummary
from traceq.runs.history.trend import QuantityTrend

_SHORT_ID = 8
_FACT = 40


def format_quantity(value: float, unit: str) -> str:
    """Return a value of a quantity as text with its unit: 12.3 ms, 1.5 GiB, 73.4 %, 900 /s; a dash for NaN."""
    if not math.isfinite(value):
        return "-"
    if unit == "ns":
        return duration(value)
    if unit == "bytes":
        return size(round(value))
    if unit == "share":
        return share(value)
    return f"{rate(value)} {unit}".rstrip() if unit != "x" else f"{rate(value)}x"


def format_change(trend: QuantityTrend) -> str:
    """Return by how much a quantity changed in all, with its interval: +5.0 % (4.8 to 5.2 %); a dash if it did not."""
    if trend.ratio is None or trend.kind not in ("level", "creep"):
        return "-"
    text = change_share(trend.ratio - 1)
    if trend.ratio_low is None or trend.ratio_high is None:
        return text
    return f"{text} ({_format_interval(trend.ratio_low - 1, trend.ratio_high - 1)})"


def _format_interval(low: float, high: float) -> str:
    return f"{100 * low:+.1f} to {100 * high:+.1f} %"


def format_slope(trend: QuantityTrend) -> str:
    """Return the slope of a creep as text: +0.52 % a week."""
    if trend.slope is None:
        return "-"
    return f"{100 * trend.slope:+.2g} % a {'report' if trend.is_per_report else 'week'}"


def name_report(report: HistoryReport) -> str:
    """Return what a report is called in a sentence: its label, else its commit, else the beginning of its id."""
    if report.label:
        return shortened(printable(report.label), _FACT)
    if report.commit:
        return f"commit {printable(report.commit)[:_SHORT_ID]}"
    return f"report {report.report_id[:_SHORT_ID]}"


def format_date(report: HistoryReport, *, is_timed: bool = True) -> str:
    """Return when a report ran: the day, or also the minute where all reports ran within a day (UTC)."""
    return f"{report.ran_at:%Y-%m-%d}" if is_timed else f"{report.ran_at:%Y-%m-%d %H:%M}"


def describe_since(explained: ExplainedChange, *, is_timed: bool) -> str:
    """Return since when the level is another one: "2026-09-07 (commit 3f2a1b9c), at the earliest after 2026-09-05 (...)"."""
    before, after = explained.last_before, explained.first_after
    until = f"{format_date(after, is_timed=is_timed)} ({name_report(after)})"
    return f"{until}, the last before is {format_date(before, is_timed=is_timed)} ({name_report(before)})"


def describe_fact(fact: FactChange) -> str:
    """Return a fact's change as text: torch 2.3.1 -> 2.4.0."""
    if fact.key == COMMIT:
        between = f", {some(fact.between, 'commit')} between" if fact.between > 1 else ""
        return f"commit {printable(fact.before)[:_SHORT_ID]} -> {printable(fact.after)[:_SHORT_ID]}{between}"
    unit = unit_of(fact.key)
    values = (shortened(printable(value), _FACT) for value in (fact.before, fact.after))
    return f"{printable(words_of(fact.key))} {' -> '.join(values)}{f' {unit}' if unit else ''}"


def list_facts(facts: Sequence[FactChange], most: int) -> str:
    """Return the facts that changed exactly there, `most` of them, and the commits; without any, those that change often."""
    exact = [fact for fact in facts if fact.is_exact]
    commits = [fact for fact in facts if fact.key == COMMIT and not fact.is_exact]
    often = [fact for fact in facts if fact not in exact and fact not in commits]
    listed = [describe_fact(fact) for fact in (*exact[:most], *commits)]
    if not exact:
        listed = [*(f"{describe_fact(fact)} (changes often)" for fact in often[:most]), *listed]
    if (more := len(exact) - most) > 0:
        listed.append(f"{more} more")
    return "; ".join(listed) or "nothing that the reports know of"


def describe_series(summary: SeriesSummary) -> str:
    """Return what the reports of a series share: its program, GPU, ranks, batch, format and steps."""
    batch = None if summary.batch is None else f"batch {summary.batch:g}"
    parts = (summary.program, summary.gpu or "no GPU", some(summary.ranks, "rank"), batch, summary.format)
    steps = (f"steps {summary.step_name}",) if summary.step_name else ()
    return ", ".join(shortened(printable(part), _FACT) for part in (*parts, *steps) if part)
