"""A series of a history: comparable reports in the order of time, with their quantities as arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from traceq.errors import UnusableBaseline
from traceq.runs.history.entry import HistoryReport

if TYPE_CHECKING:
    import duckdb

Floats = NDArray[np.float64]

# What --where may name beside the keys of facts.
COLUMNS = ("label", "program", "commit", "branch", "gpu", "ranks", "batch", "format", "file", "series")

# Reports that lie less than a day apart all together have no times that a trend could be over; seconds.
_DAY = 86_400.0


class SeriesChoice(msgspec.Struct, frozen=True):
    """A choice of reports: since a time, with these values of columns or facts, in series whose id begins so."""

    since: datetime | None = None
    where: tuple[tuple[str, str], ...] = ()
    series: str | None = None


EVERY_REPORT = SeriesChoice()


class SeriesSummary(msgspec.Struct, frozen=True):
    """The conditions that the reports of a series share, their number, and when the first and the last ran (UTC)."""

    series: str
    program: str | None
    gpu: str | None
    ranks: int
    batch: float | None
    format: str
    step_name: str | None
    reports: int
    first_at: datetime
    last_at: datetime


class HistorySeries(msgspec.Struct, frozen=True):
    """The reports of a series by number, in the order of time.

    `seconds` are their times since 1970. `values` are the quantities by name, NaN where a report has none; `units` are
    theirs. `is_timed` says whether the times tell a trend; else reports were added together.
    """

    summary: SeriesSummary
    report_ids: Sequence[str]
    seconds: Floats
    is_timed: bool
    values: Mapping[str, Floats]
    units: Mapping[str, str]

    @property
    def report_places(self) -> Floats:
        """The places of the reports: days since the first if the times tell a trend, else their numbers."""
        if self.is_timed:
            return np.asarray((self.seconds - self.seconds[0]) / _DAY)
        return np.arange(len(self.seconds), dtype=float)


def list_series(connection: duckdb.DuckDBPyConnection, choice: SeriesChoice = EVERY_REPORT) -> list[SeriesSummary]:
    """Return the series of the chosen reports, the one with the latest report first."""
    condition, values = _write_condition(choice)
    rows = connection.execute(
        "select series, any_value(program), any_value(gpu), any_value(ranks), any_value(batch), any_value(format),"  # noqa: S608 - see _write_condition
        " any_value(step_name), count(*), min(ran_at), max(ran_at)"
        f" from report where {condition} group by series order by max(ran_at) desc, max(rowid) desc",
        values,
    ).fetchall()
    return [SeriesSummary(*row[:-2], *(moment.replace(tzinfo=UTC) for moment in row[-2:])) for row in rows]


def _write_condition(choice: SeriesChoice) -> tuple[str, dict[str, object]]:
    """Return an SQL condition on rows of report for the choice, and its parameters."""
    conditions, values = ["true"], dict[str, object]()
    if choice.since is not None:
        conditions.append("ran_at >= $since")
        values["since"] = choice.since.astimezone(UTC).replace(tzinfo=None)
    if choice.series is not None:
        conditions.append("starts_with(series, $series)")
        values["series"] = choice.series
    for number, (key, value) in enumerate(choice.where):
        values[f"value{number}"] = value
        if key in COLUMNS:
            conditions.append(
                f"{key}::varchar = $value{number}" if key != "batch" else f"batch = try_cast($value{number} as double)"
            )
        else:
            values[f"key{number}"] = key
            conditions.append(
                f"exists (from fact where fact.report_id = report.report_id and key = $key{number} and value = $value{number})"
            )
    return " and ".join(conditions), values


def read_series(
    connection: duckdb.DuckDBPyConnection,
    summary: SeriesSummary,
    choice: SeriesChoice = EVERY_REPORT,
    names: Collection[str] | None = None,
) -> HistorySeries:
    """Return the chosen reports of a series with their quantities, only those of `names` unless None."""
    condition, values = _write_condition(msgspec.structs.replace(choice, series=summary.series))
    reports = connection.execute(
        "select report_id, epoch(ran_at) as seconds"  # noqa: S608 - see _write_condition
        f" from report where {condition} order by ran_at, added_at, rowid",
        values,
    ).fetchnumpy()
    report_ids = [str(report_id) for report_id in reports["report_id"]]
    wanted = "" if names is None else "where name in (select unnest($names))"
    found = connection.execute(
        f"""with chosen as (
            select report_id, row_number() over (order by ran_at, added_at, rowid) - 1 as number from report where {condition}
        ), named as (
            select name, row_number() over (order by name) - 1 as place from quantity {wanted} group by name
        )
        select n.place::integer as place, c.number::integer as number, q.value from quantity as q
        inner join chosen as c using (report_id) inner join named as n using (name)""",  # noqa: S608 - see _write_condition
        values | ({} if names is None else {"names": list(names)}),
    ).fetchnumpy()
    named = connection.execute(
        f"select name, any_value(unit) from quantity {wanted} group by name order by name",  # noqa: S608 - words of this file
        None if names is None else {"names": list(names)},
    ).fetchall()
    table = np.full((len(named), len(report_ids)), np.nan)
    table[found["place"], found["number"]] = found["value"]
    is_there = np.isfinite(table).any(axis=1)
    seconds = np.asarray(reports["seconds"], dtype=float)
    return HistorySeries(
        summary=summary,
        report_ids=report_ids,
        seconds=seconds,
        is_timed=len(seconds) > 1 and seconds[-1] - seconds[0] >= _DAY and len(np.unique(seconds)) == len(seconds),
        values={name: row for (name, _), row, known in zip(named, table, is_there, strict=True) if known},
        units=dict(named),
    )


def read_some_reports(connection: duckdb.DuckDBPyConnection, report_ids: Collection[str]) -> dict[str, HistoryReport]:
    """Return the reports with these ids, by id."""
    cursor = connection.execute("from report where report_id in (select unnest($ids))", {"ids": list(report_ids)})
    columns = [column[0] for column in cursor.description or ()]
    found = {}
    for row in cursor.fetchall():
        fields = dict(zip(columns, row, strict=True))
        times = {name: fields[name].replace(tzinfo=UTC) for name in ("added_at", "ran_at")}
        found[fields["report_id"]] = HistoryReport(**{**fields, **times})
    return found


def choose_series(found: Sequence[SeriesSummary], choice: SeriesChoice, path: Path) -> SeriesSummary:
    """Return the series with the latest report. Raises UnusableBaseline without one."""
    if not found:
        said = "".join(
            [
                *(f" with {key}={value}" for key, value in choice.where),
                *([f" since {choice.since:%Y-%m-%d}"] if choice.since else []),
                *([f" of series {choice.series}"] if choice.series else []),
            ]
        )
        raise UnusableBaseline(f"{path}: holds no report{said}; traceq history list shows what there is")
    return found[0]
