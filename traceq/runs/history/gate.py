"""Judge a series as a gate does: has a quantity become worse since it was last accepted, at once or little by little?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from traceq.common.change_points import FLOOR
from traceq.common.distributions import student_quantile
from traceq.runs.budgets.budget import SHARE, Budget, JudgedBudget, Limit
from traceq.runs.budgets.judge import cannot_judge
from traceq.runs.history.entry import HistoryEntry, sign_of_worse
from traceq.runs.history.series import HistorySeries
from traceq.runs.history.trend import FEWEST, QuantityTrend, describe_quantity

if TYPE_CHECKING:
    import duckdb

MAX_REGRESSION = FLOOR
"""How much worse a quantity may have become since it was accepted, as a share, unless the user says otherwise."""

# One report of so many healthy ones is further away than a report alone may be; one-sided.
_CHANCE = 0.001
_MOST_FREEDOM = 200


class JudgedHistory(msgspec.Struct, frozen=True):
    """A quantity judged against its history: the budget that it is, its trend, and whether the new report alone stands out.

    `since` is the number of the report from which on it is worse, None where it is not.
    """

    budget: JudgedBudget
    trend: QuantityTrend | None
    since: int | None = None
    is_alone: bool = False


def add_to_series(series: HistorySeries, entry: HistoryEntry) -> HistorySeries:
    """Return the series with a further report at its end; the same series if it holds the report already."""
    if entry.report.report_id in series.report_ids:
        return series
    given = {quantity.name: quantity for quantity in entry.quantities}
    values = {
        name: np.append(known, given[name].value if name in given else math.nan) for name, known in series.values.items()
    }
    seconds = entry.report.ran_at.timestamp()
    return msgspec.structs.replace(
        series,
        report_ids=[*series.report_ids, entry.report.report_id],
        seconds=np.append(series.seconds, seconds),
        is_timed=series.is_timed and seconds > series.seconds[-1],
        values=values,
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
        return JudgedHistory(cannot_judge(budget, f"the new report has no {name}, or no report of {path} has it"), None)
    trend = describe_quantity(series, name, start, float(limit))
    if trend.kind == "too few":
        reports = f"{trend.reports - 1} comparable report{'s' if trend.reports > 2 or trend.reports == 1 else ''}"  # noqa: PLR2004 - the new one is among them
        return JudgedHistory(
            cannot_judge(budget, f"{path} has {reports} with {name} since the last acceptance; {FEWEST - 1} are needed"),
            trend,
        )
    worse, since = _measure_worse(trend)
    alone = _measure_alone(series, trend, float(limit))
    if worse <= limit and alone is not None:
        judged = JudgedBudget(budget, "fail", Fraction(repr(alone)))
        return JudgedHistory(judged, trend, len(series.report_ids) - 1, is_alone=True)
    if worse > limit:
        return JudgedHistory(JudgedBudget(budget, "fail", Fraction(repr(worse))), trend, since)
    return JudgedHistory(JudgedBudget(budget, "pass", Fraction(repr(worse))), trend)


def _measure_worse(trend: QuantityTrend) -> tuple[float, int | None]:
    """Return by what share the quantity is worse at the end than at its best, and the number of the report since when.

    A creep is measured from its beginning.
    """
    is_reversed = sign_of_worse(trend.name) < 0
    if trend.kind == "creep" and trend.ratio:
        return (1 / trend.ratio if is_reversed else trend.ratio) - 1, trend.start
    if trend.kind != "level":
        return 0.0, None
    levels = trend.levels
    best = (max if is_reversed else min)(levels)
    place = max(number for number, level in enumerate(levels) if level == best)
    if place == len(levels) - 1 or best <= 0 or levels[-1] <= 0:
        return 0.0, None
    return (best / levels[-1] if is_reversed else levels[-1] / best) - 1, trend.changes[place].number


def _measure_alone(series: HistorySeries, trend: QuantityTrend, limit: float) -> float | None:
    """Return by what share the new report alone is worse than the reports at the last level; None where it may be chance.

    Chance is judged by the spread of these reports, as logarithms: one in 1,000 healthy reports is as far away.
    """
    begin = trend.changes[-1].number if trend.changes else trend.start
    values = series.values[trend.name][begin:]
    known = values[np.isfinite(values)]
    before, new = known[:-1], float(known[-1])
    if trend.kind == "creep" or len(before) < FEWEST - 1 or new <= 0 or not (before > 0).all():
        return None
    logs = np.log(before)
    away = (math.log(new) - float(np.median(logs))) * sign_of_worse(trend.name)
    freedom = min(len(before) - 1, _MOST_FREEDOM)
    spread = float(np.std(logs, ddof=1)) * math.sqrt(1 + 1 / len(before))
    is_chance = away <= student_quantile(2 * _CHANCE, freedom) * spread
    return None if is_chance or math.expm1(away) <= limit else math.expm1(away)
