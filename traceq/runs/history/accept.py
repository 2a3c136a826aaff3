"""Accept changes: from a report on, the gate counts anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from traceq.common.units import some
from traceq.errors import UnusableBaseline
from traceq.runs.history.series import (
    EVERY_REPORT,
    SeriesChoice,
    choose_series,
    list_series,
    read_series,
    read_some_reports,
)
from traceq.runs.history.store import WAIT, find_report, read_clock, write_history
from traceq.runs.history.trend import describe_quantity


class Accepted(NamedTuple):
    """A quantity that was accepted (None: all), and the first report that counts from read_clock on."""

    name: str | None
    report_id: str


def accept_changes(
    path: Path,
    names: Sequence[str],
    because: str,
    *,
    choice: SeriesChoice = EVERY_REPORT,
    begin: str | None = None,
    wait: float = WAIT,
) -> list[Accepted]:
    """Accept what became of the quantities (of all if empty) in the chosen series, and return from which reports on.

    That is the report whose id begins with `begin`; without it the first one surely at the level that a quantity has
    read_clock, the last report where it creeps, and nothing is written for a quantity that did not change. Raises
    UnusableBaseline for a quantity that is not there, and where nothing changed.
    """
    with write_history(path, wait) as connection:
        if begin is not None:
            report_id = find_report(connection, begin, path)
            named = read_some_reports(connection, [report_id])[report_id].series
            accepted = [Accepted(name, report_id) for name in names] or [Accepted(None, report_id)]
        else:
            series = read_series(connection, choose_series(list_series(connection, choice), choice, path))
            named = series.summary.series
            if missing := [name for name in names if name not in series.values]:
                raise UnusableBaseline(
                    f"{path}: no report of the series has {missing[0]}; there are {', '.join(series.values)}"
                )
            accepted = []
            for name in names or series.values:
                trend = describe_quantity(series, name)
                if trend.kind == "level":
                    accepted.append(Accepted(name, series.report_ids[trend.changes[-1].first_after]))
                elif trend.kind == "creep":
                    accepted.append(Accepted(name, series.report_ids[-1]))
            if not accepted:
                raise UnusableBaseline(
                    f"{path}: nothing changed in {some(len(series.report_ids), 'report')}, so there is nothing to accept;"
                    " --from REPORT names the first report that counts"
                )
        for change in accepted:
            connection.execute(
                "insert into acceptance values (?, ?, ?, ?, ?)",
                [read_clock().replace(tzinfo=None), named, change.name, change.report_id, because],
            )
    return accepted
