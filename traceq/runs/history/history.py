"""A history as it is shown: a series, how its quantities moved, since when, and what else changed then."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from traceq.errors import UnusableBaseline
from traceq.runs.history.changed import FactChange, find_changed_facts
from traceq.runs.history.entry import HistoryEntry, HistoryReport
from traceq.runs.history.gate import find_starts
from traceq.runs.history.series import (
    HistorySeries,
    SeriesChoice,
    SeriesSummary,
    choose_series,
    list_series,
    read_series,
    read_some_reports,
)
from traceq.runs.history.trend import QuantityTrend, TrendChange, describe_quantities

if TYPE_CHECKING:
    import duckdb

# Changes beyond are shown without what else changed: a series of so many is not one that a person reads.
_MOST_EXPLAINED = 12


class ExplainedChange(msgspec.Struct, frozen=True):
    """A change with the reports around it, and the facts that changed with it; `is_accepted` by a person."""

    change: TrendChange
    last_before: HistoryReport
    first_after: HistoryReport
    facts: tuple[FactChange, ...]
    is_accepted: bool


class ShownHistory(msgspec.Struct, frozen=True):
    """A series of a history: its trends, worst first, the changes of each by name, and its first and last report.

    `others` are the other series that were chosen. `starts` are the numbers of the first reports that count for the
    gate, by quantity; `floor` is the least change worth telling, as a share.
    """

    path: str
    series: HistorySeries
    others: tuple[SeriesSummary, ...]
    trends: tuple[QuantityTrend, ...]
    explained: Mapping[str, tuple[ExplainedChange, ...]]
    first: HistoryReport
    last: HistoryReport
    starts: Mapping[str, int]
    floor: float


def read_history(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    choice: SeriesChoice,
    names: Collection[str],
    floor: float,
) -> ShownHistory:
    """Return the chosen series with the latest report: the quantities `names`, all those worth a look if empty.

    Raises UnusableBaseline where no report is chosen, or a quantity is not there.
    """
    found = list_series(connection, choice)
    summary = choose_series(found, choice, path)
    series = read_series(connection, summary, choice)
    missing = [name for name in names if name not in series.values]
    if missing:
        there = ", ".join(series.values)
        raise UnusableBaseline(f"{path}: no report of the series has {missing[0]}; there are {there}")
    starts = find_starts(connection, series, list(series.values))
    trends = describe_quantities(series, names or None, floor=floor)
    explained = explain_changes(connection, series, trends, starts)
    ends = read_some_reports(connection, [series.report_ids[0], series.report_ids[-1]])
    return ShownHistory(
        path=str(path),
        series=series,
        others=tuple(other for other in found if other.series != summary.series),
        trends=tuple(trends),
        explained=explained,
        first=ends[series.report_ids[0]],
        last=ends[series.report_ids[-1]],
        starts=starts,
        floor=floor,
    )


def explain_changes(
    connection: duckdb.DuckDBPyConnection,
    series: HistorySeries,
    trends: Collection[QuantityTrend],
    starts: Mapping[str, int],
    added: Sequence[HistoryEntry] = (),
) -> dict[str, tuple[ExplainedChange, ...]]:
    """Return the changes of each trend with the reports around them and what else changed, by name of quantity.

    `added` are reports at the end of the series that are not stored.
    """
    changes = [change for trend in trends for change in trend.changes]
    around = {series.report_ids[number] for change in changes for number in (change.last_before, change.first_after)}
    reports = read_some_reports(connection, around) | {entry.report.report_id: entry.report for entry in added}
    facts: dict[tuple[int, int], tuple[FactChange, ...]] = {}
    explained = {}
    for trend in trends:
        found = []
        for change in trend.changes:
            window = (change.last_before, change.first_after)
            if window not in facts:
                is_read = len(facts) < _MOST_EXPLAINED
                facts[window] = find_changed_facts(connection, series, change, added) if is_read else ()
            before, after = (reports[series.report_ids[number]] for number in window)
            is_accepted = change.number <= starts.get(trend.name, 0)
            found.append(ExplainedChange(change, before, after, facts[window], is_accepted))
        explained[trend.name] = tuple(found)
    return explained
