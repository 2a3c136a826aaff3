"""History: reports are added, shown as trends, accepted, removed, and exported for dashboards."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.report import report
from traceq.app.source import Source, Sources, as_list, check_writes
from traceq.app.view import View
from traceq.common.files import atomic_write
from traceq.errors import StoreError, UnusableTrace, WrongUse
from traceq.reports import SUFFIXES
from traceq.reports.document import Block
from traceq.reports.history.list import list_reports_as_json, compose_reports
from traceq.reports.history.page import compose_history, compose_page
from traceq.reports.renderers.history_to_json import history_to_json, trend_rows
from traceq.runs.history.accept import Accepted, accept_changes
from traceq.runs.history.entry import HistoryEntry, HistoryReport
from traceq.runs.history.history import ShownHistory, read_history
from traceq.runs.history.origin import Origin, find_origin
from traceq.runs.history.series import SeriesChoice
from traceq.runs.history.store import (
    WAIT,
    AddedReports,
    add_entries,
    history_path,
    is_history,
    merge_history,
    now,
    open_history,
    read_reports,
    remove_reports,
)
from traceq.runs.history.summary import summarize_report
from traceq.runs.history.trend import FLOOR
from traceq.runs.sources import baseline_runs

if TYPE_CHECKING:
    from traceq.runs.history.trend import QuantityTrend

# The keys of a JSON report are sorted: it begins with its jobs, however it is laid out.
_REPORT = re.compile(rb'\s*\{\s*"jobs"\s*:\s*\[')
_BEGIN_LENGTH = 200
# All findings that a report may have.
_TOP = 1_000

HISTORY_SUFFIXES = {**SUFFIXES, ".csv": "csv"}


class HistoryOptions(NamedTuple):
    """What the user says of reports to add; traceq.app.api.history_add describes each."""

    label: str | None = None
    commit: str | None = None
    branch: str | None = None
    program: str | None = None
    at: datetime | None = None
    facts: Mapping[str, str] = {}


class HistoryAdded(NamedTuple):
    """The history's path, the reports that were added, and the ids of those that it had already."""

    path: Path
    added: int
    repeated: tuple[str, ...]


class HistoryView(View[ShownHistory]):
    """A series of a history with its trends; `content` is plain data with arrays."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the trends as blocks, for plain text."""
        return compose_history(self.content)

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page, which also draws each quantity."""
        return compose_page(self.content)

    def to_json(self) -> str:
        """Return the trends as JSON text, for programs; docs/history.md describes the keys."""
        return history_to_json(self.content)

    def to_csv(self) -> str:
        """Return the trends as CSV text: a row a quantity, with the columns of docs/history.md."""
        file = io.StringIO(newline="")
        rows = list(trend_rows(self.content))
        writer = csv.DictWriter(file, rows[0] if rows else ["name"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return file.getvalue()

    def suffixes(self) -> Mapping[str, str]:
        """Return the names of formats by file suffix."""
        return HISTORY_SUFFIXES

    def render(self, format_: str) -> str:
        """Return the result as text in the format: text, md, html, json or csv."""
        return self.to_csv() if format_ == "csv" else super().render(format_)


class HistoryListView(View[tuple[HistoryReport, ...]]):
    """The reports of a history, the latest first."""

    def blocks(self) -> Iterable[Block]:
        """Return the table of reports as blocks."""
        return compose_reports(self.content)

    def to_json(self) -> str:
        """Return the reports as JSON text, with the columns of the table report."""
        return list_reports_as_json(self.content)


def history_add(
    sources: Sources,
    path: Path | None = None,
    read: ReadOptions = AS_FOUND,
    options: HistoryOptions = HistoryOptions(),
    *,
    wait: float = WAIT,
) -> HistoryAdded:
    """Add reports to the history, all in one transaction; traceq.app.api.history_add describes the parameters.

    Raises UnusableTrace for a source without anything to keep, StoreError where the history cannot be written.
    """
    path = path or history_path()
    given = as_list(sources)
    check_writes(read.writes, given)
    added = AddedReports(0, ())
    entries = []
    for source in given:
        if Path(source).is_file() and is_history(Path(source)):
            merged = merge_history(path, Path(source), wait)
            added = AddedReports(added.added + merged.added, (*added.repeated, *merged.repeated))
        else:
            entries += summarize_source(source, read, options, is_alone=len(given) == 1)
    if entries:
        new = add_entries(path, entries, wait)
        added = AddedReports(added.added + new.added, (*added.repeated, *new.repeated))
    return HistoryAdded(path, *added)


def summarize_source(
    source: Source, read: ReadOptions = AS_FOUND, options: HistoryOptions = HistoryOptions(), *, is_alone: bool = True
) -> list[HistoryEntry]:
    """Return what a history keeps of a trace, database, dataset or JSON report.

    The commit that is checked out, or that a CI system names, is taken for that of the run only where `is_alone`: of
    several reports nobody knows which it is. Raises UnusableTrace where nothing is to be kept.
    """
    if baseline_runs(source) is not None:
        raise WrongUse(f"{source} is a baseline, which lacks what a history keeps: add the trace or its JSON report.")
    content = _read_report(Path(source)) or _make_report(source, read)
    found = find_origin() if is_alone and options.commit is None else Origin()
    origin = Origin(options.commit or found.commit, options.branch or found.branch, found.made_at)
    entries = summarize_report(
        content,
        str(source),
        added_at=now(),
        at=options.at,
        origin=origin,
        label=options.label,
        program=options.program,
        facts=options.facts,
    )
    kept = [entry for entry in entries if entry.quantities]
    if not kept:
        raise UnusableTrace(f"{source}: has no steps and no GPU work, so there is nothing to keep; mark its steps")
    return kept


def _read_report(path: Path) -> Any | None:
    """Return the content of a JSON report; None if the file is something else. Raises UnusableTrace if it is damaged."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if _REPORT.match(file.read(_BEGIN_LENGTH)) is None:
            return None
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnusableTrace(f"{path}: is a damaged JSON report ({error}); report on the trace again") from error


def _make_report(source: Source, read: ReadOptions) -> Any:
    """Return the JSON report on a source. In a job of many ranks the lowest is always among its traces."""
    content = json.loads(report(source, _TOP, read, scope="document").to_json())
    there = {trace["trace"]["trace_id"] for trace in content["traces"]}
    lowest = [min(job["members"], key=lambda member: (member["rank"] or 0, member["trace_id"])) for job in content["jobs"]]
    missing = [member["trace_id"] for member in lowest if member["trace_id"] not in there]
    if missing:
        more = json.loads(report(source, _TOP, read, scope="document", traces=missing).to_json())
        content["traces"] += more["traces"]
    return content


def history_show(
    path: Path | None = None,
    choice: SeriesChoice = SeriesChoice(),
    *,
    quantities: Sequence[str] = (),
    floor: float = FLOOR,
    wait: float = WAIT,
) -> HistoryView:
    """Show how the quantities of a series moved; traceq.app.api.history_show describes the parameters."""
    path = path or history_path()
    with open_history(path, wait) as connection:
        return HistoryView(read_history(connection, path, choice, quantities, floor))


def history_list(path: Path | None = None, *, wait: float = WAIT) -> HistoryListView:
    """Return the reports of the history, the latest first."""
    path = path or history_path()
    with open_history(path, wait) as connection:
        return HistoryListView(tuple(reversed(read_reports(connection))))


def history_accept(
    quantities: Sequence[str],
    because: str,
    path: Path | None = None,
    choice: SeriesChoice = SeriesChoice(),
    *,
    begin: str | None = None,
    wait: float = WAIT,
) -> list[Accepted]:
    """Accept what became of the quantities (all if empty); what came before no longer counts for `traceq check`."""
    path = path or history_path()
    with open_history(path, wait):
        pass  # else a history would be made of a name that is mistyped
    return accept_changes(path, quantities, because, choice=choice, begin=begin, wait=wait)


def history_remove(report_ids: Sequence[str], path: Path | None = None, *, wait: float = WAIT) -> int:
    """Remove reports, named by the beginning of their id, and return how many."""
    path = path or history_path()
    with open_history(path, wait):
        pass
    return remove_reports(path, report_ids, wait)


def history_export(output: Path, path: Path | None = None, *, wait: float = WAIT) -> list[Path]:
    """Write the history as Parquet: a tidy table (a row a report and quantity) to a file, or with the facts into a folder.

    Returns the files. Raises WrongUse for a file of another suffix, StoreError where it cannot be written.
    """
    path = path or history_path()
    if output.suffix and output.suffix.lower() != ".parquet":
        raise WrongUse(f"{output}: name a file that ends in .parquet, or a folder.")
    check_writes([output] if output.suffix else [], [path])
    tables = {"history": _TIDY, "facts": _FACTS}
    files = {output: _TIDY} if output.suffix else {output / f"{name}.parquet": query for name, query in tables.items()}
    if not output.suffix:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{output}: cannot be made: {error.strerror}; choose another folder") from error
    import pyarrow.parquet as pq

    with open_history(path, wait) as connection:
        for file, query in files.items():
            rows = connection.sql(query).to_arrow_table()
            with atomic_write(file) as written:
                pq.write_table(rows, written)
    return list(files)


_TIDY = """select r.*, q.name as quantity, q.value, q.low, q.high, q.unit
from report as r left join quantity as q using (report_id) order by r.ran_at, r.added_at, r.report_id, q.name"""
_FACTS = """select r.report_id, r.ran_at, r.series, f.key, f.value
from report as r inner join fact as f using (report_id) order by r.ran_at, r.report_id, f.key"""
