"""Judge a series as a gate does: whether a quantity became worse since it was last accepted, at once or little by little."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from traceq.common.change_points import FLOOR
from traceq.common.distributions import student_quantile
from traceq.common.text import printable, shortened
from traceq.common.units import some
from traceq.runs.budgets.budget import SHARE, Budget, JudgedBudget, Limit, State
from traceq.runs.budgets.judge import cannot_judge
from traceq.runs.history.entry import HistoryEntry, HistoryReport, sign_of_worse
from traceq.runs.history.series import HistorySeries, SeriesSummary
from traceq.runs.history.trend import FEWEST, QuantityTrend, TrendChange, describe_quantity

if TYPE_CHECKING:
    import duckdb

MAX_REGRESSION = FLOOR
"""How much worse a quantity may have become since it was accepted, as a share, unless the user says otherwise."""

# One report of so many healthy ones is further away than a report alone may be; one-sided.
_CHANCE = 0.001
_MOST_FREEDOM = 200
# Conditions of a series beside the program, in the order of messages.
_CONDITIONS = ("gpu", "ranks", "batch", "format", "step_name")


class JudgedHistory(msgspec.Struct, frozen=True):
    """A quantity judged against its history as a budget, with its trend; None where the new report lacks the quantity.

    Of a report that alone stands out the trend has one change, which is the report; `is_alone` says so.
    """

    budget: JudgedBudget
    trend: QuantityTrend | None = None
    is_alone: bool = False


def match_series(found: Sequence[SeriesSummary], report: HistoryReport) -> SeriesSummary | str:
    """Return the series that the report belongs to, or a text that says why there is none.

    A report that names no program belongs to the only series that is like it otherwise.
    """
    exact = next((summary for summary in found if summary.series == report.series), None)
    if exact is not None:
        return exact
    if not found:
        return "it holds no reports"
    alike = [summary for summary in found if not _list_differences(summary, report)]
    if len(alike) == 1 and report.program is None:
        return alike[0]
    if alike:
        programs = ", ".join(sorted({summary.program or "unnamed" for summary in alike}))
        return f"comparable reports are of other programs ({programs}): name the program with --program"
    nearest = min(found, key=lambda summary: len(_list_differences(summary, report)))
    return f"it holds no comparable report: {'; '.join(_list_differences(nearest, report))}"


def _list_differences(summary: SeriesSummary, report: HistoryReport) -> list[str]:
    """Return in what the report differs from the reports of a series, but for the program: "ranks: 8 there, 16 now"."""
    named = [(name.replace("_", " "), getattr(summary, name), getattr(report, name)) for name in _CONDITIONS]
    return [
        f"{name}: {_format_condition(there)} there, {_format_condition(here)} now"
        for name, there, here in named
        if there != here
    ]


def _format_condition(value: object) -> str:
    return (
        "unknown"
        if value is None
        else f"{value:g}"
        if isinstance(value, float)
        else shortened(printable(str(value)), 40)
    )


def add_to_series(series: HistorySeries, entry: HistoryEntry) -> HistorySeries:
    """Return the series with a further report at its end; up to that report if it holds it already."""
    if entry.report.report_id in series.report_ids:
        return _cut_series(series, series.report_ids.index(entry.report.report_id) + 1)
    given = {quantity.name: quantity for quantity in entry.quantities}
    values = {
        name: np.append(known, given[name].value if name in given else math.nan)
        for name, known in series.values.items()
    }
    seconds = entry.report.ran_at.timestamp()
    return msgspec.structs.replace(
        series,
        report_ids=[*series.report_ids, entry.report.report_id],
        seconds=np.append(series.seconds, seconds),
        is_timed=series.is_timed and seconds > series.seconds[-1],
        values=values,
    )


def _cut_series(series: HistorySeries, end: int) -> HistorySeries:
    """Return the first `end` reports of a series."""
    return msgspec.structs.replace(
        series,
        report_ids=series.report_ids[:end],
        seconds=series.seconds[:end],
        values={name: values[:end] for name, values in series.values.items()},
    )


def find_starts(
    connection: duckdb.DuckDBPyConnection, series: HistorySeries, names: Sequence[str]
) -> Mapping[str, int]:
    """Return the number of the first report that counts for each quantity: that of its latest acceptance, else 0."""
    rows = connection.execute(
        "select name, report_id from acceptance where series = ? order by accepted_at, rowid", [series.summary.series]
    ).fetchall()
    places = {report_id: number for number, report_id in enumerate(series.report_ids)}
    starts = dict.fromkeys(names, 0)
    for accepted, report_id in rows:
        for name in names if accepted is None else (accepted,):
            if name in starts and report_id in places:
                starts[name] = places[report_id]
    return starts


def judge_history(
    series: HistorySeries,
    name: str,
    start: int,
    path: str,
    *,
    max_regression: Fraction | None = None,
    line: int | None = None,
) -> JudgedHistory:
    """Judge a quantity from the report number `start` on, whose last report is the new one.

    It fails where the last level is worse than the best one before by more than `max_regression` (MAX_REGRESSION if
    None), where it creeps so far, or where the new report alone is worse by more than that and by more than chance.
    Cannot judge with fewer than FEWEST reports. `path` is the history, `line` that of the budget file.
    """
    limit = Fraction(str(MAX_REGRESSION)) if max_regression is None else max_regression
    budget = Budget("history", name, (Limit("at most", limit, SHARE),), line)
    values = series.values.get(name)
    if values is None or not math.isfinite(values[-1]):
        return JudgedHistory(cannot_judge(budget, f"the new report has no {name}, or no report of {path} has it"))
    trend = describe_quantity(series, name, start, float(limit))
    if trend.kind == "too few":
        since = " since the last acceptance" if start else ""
        has = f"{path} has {some(trend.reports - 1, 'comparable report')} with {name}{since}"
        return JudgedHistory(cannot_judge(budget, f"{has} beside the new one; {FEWEST - 1} are needed"), trend)
    worse = _measure_worse(trend)
    alone = None if worse > limit else _find_alone(series, trend, float(limit))
    if alone is not None:
        trend = msgspec.structs.replace(trend, kind="level", changes=(alone,))
        worse = max(alone.ratio, 1 / alone.ratio) - 1
    state: State = "fail" if worse > limit else "pass"
    return JudgedHistory(JudgedBudget(budget, state, Fraction(repr(worse))), trend, is_alone=alone is not None)


def _measure_worse(trend: QuantityTrend) -> float:
    """Return by what share the quantity is worse at the end than at its best; a creep from its beginning."""
    is_reversed = sign_of_worse(trend.name) < 0
    if trend.kind == "creep" and trend.ratio:
        return max((1 / trend.ratio if is_reversed else trend.ratio) - 1, 0.0)
    if trend.kind != "level":
        return 0.0
    best, last = (max if is_reversed else min)(trend.level_medians), trend.level_medians[-1]
    if best <= 0 or last <= 0:
        return 0.0
    return (best / last if is_reversed else last / best) - 1


def _find_alone(series: HistorySeries, trend: QuantityTrend, limit: float) -> TrendChange | None:
    """Return the new report as a change if it is worse than each report at the last level; None where it may be chance.

    Chance is judged by the spread of these reports, as logarithms: one in 1,000 healthy reports is as far away.
    """
    begin = trend.changes[-1].number if trend.changes else trend.start
    values = series.values[trend.name][begin:]
    known = values[np.isfinite(values)]
    before, new = known[:-1], float(known[-1])
    if trend.kind == "creep" or len(before) < FEWEST - 1 or new <= 0 or not (before > 0).all():
        return None
    logs = np.log(before)
    level = float(np.exp(np.median(logs)))
    away = math.log(new / level) * sign_of_worse(trend.name)
    spread = float(np.std(logs, ddof=1)) * math.sqrt(1 + 1 / len(before))
    reach = student_quantile(2 * _CHANCE, min(len(before) - 1, _MOST_FREEDOM)) * spread
    is_worst = away > float(np.max((logs - math.log(level)) * sign_of_worse(trend.name)))
    if not is_worst or away <= reach or math.expm1(away) <= limit:
        return None
    last = len(series.report_ids) - 1
    ratio = new / level
    return TrendChange(
        number=last,
        last_before=last - 1,
        first_after=last,
        begin=begin,
        end=last + 1,
        before=level,
        after=new,
        ratio=ratio,
        ratio_low=ratio * math.exp(-reach),
        ratio_high=ratio * math.exp(reach),
    )
