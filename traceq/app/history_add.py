"""Add reports to a history: what is kept of traces, databases, datasets and JSON reports, and the reports of other histories."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.report import report
from traceq.app.source import Source, Sources, as_list, check_writes
from traceq.errors import UnusableTrace, WrongUse
from traceq.runs.history.entry import HistoryEntry
from traceq.runs.history.origin import UNKNOWN, ProgramCommit, find_origin
from traceq.runs.history.store import (
    WAIT,
    AddedReports,
    add_entries,
    history_path,
    is_history,
    merge_history,
    read_clock,
)
from traceq.runs.history.summary import summarize_report
from traceq.runs.sources import baseline_runs

# The keys of a JSON report are sorted: it begins with its jobs, however it is laid out.
_REPORT = re.compile(rb'\s*\{\s*"jobs"\s*:\s*\[')
_BEGIN_LENGTH = 200
# All findings that a report may have.
_TOP = 1_000


class HistoryOptions(NamedTuple):
    """The user's words on reports to add; traceq.app.api.history_add describes them."""

    label: str | None = None
    commit: str | None = None
    branch: str | None = None
    program: str | None = None
    at: datetime | None = None
    facts: Mapping[str, str] = {}


NOTHING_SAID = HistoryOptions()


class HistoryAdded(NamedTuple):
    """The history's path, the reports that were added, and the ids of those that it had already."""

    path: Path
    added: int
    repeated: tuple[str, ...]


def history_add(
    sources: Sources,
    path: Path | None = None,
    read: ReadOptions = AS_FOUND,
    options: HistoryOptions = NOTHING_SAID,
    *,
    wait: float = WAIT,
) -> HistoryAdded:
    """Add reports to the history, all in one transaction; traceq.app.api.history_add describes the parameters.

    Raises UnusableTrace for a source without anything to keep, StoreError where the history cannot be written.
    """
    path = path or history_path()
    given = [one for source in as_list(sources) for one in _list_reports(source)]
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
    source: Source, read: ReadOptions = AS_FOUND, options: HistoryOptions = NOTHING_SAID, *, is_alone: bool = True
) -> list[HistoryEntry]:
    """Return what a history keeps of a trace, database, dataset or JSON report.

    The commit that is checked out, or that a CI system names, is taken for that of the run only where `is_alone`: of
    several reports nobody knows which it is. Raises UnusableTrace where nothing is to be kept.
    """
    if baseline_runs(source) is not None:
        raise WrongUse(f"{source} is a baseline, which lacks what a history keeps: add the trace or its JSON report.")
    content = _read_report(Path(source)) or _make_report(source, read)
    found = find_origin() if is_alone and options.commit is None else UNKNOWN
    origin = ProgramCommit(options.commit or found.commit, options.branch or found.branch, found.made_at)
    entries = summarize_report(
        content,
        str(source),
        added_at=read_clock(),
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


def _list_reports(source: Source) -> list[Source]:
    """Return the files of a folder that holds JSON reports and nothing else; any other source itself."""
    if not Path(source).is_dir():
        return [source]
    files = sorted(file for file in Path(source).iterdir() if not file.name.startswith("."))
    return list(files) if files and all(map(_is_report, files)) else [source]


def _is_report(path: Path) -> bool:
    """Return whether the file begins as a JSON report does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _REPORT.match(file.read(_BEGIN_LENGTH)) is not None


def _read_report(path: Path) -> Any | None:
    """Return the content of a JSON report; None if the file is something else. Raises UnusableTrace if it is damaged."""
    if not _is_report(path):
        return None
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnusableTrace(f"{path}: is a damaged JSON report ({error}); report on the trace again") from error


def _make_report(source: Source, read: ReadOptions) -> Any:
    """Return the JSON report on a source. In a job of many ranks the lowest is always among its traces."""
    content = json.loads(report(source, _TOP, read, scope="document").to_json())
    there = {trace["trace"]["trace_id"] for trace in content["traces"]}
    lowest = [
        min(job["members"], key=lambda member: (member["rank"] or 0, member["trace_id"])) for job in content["jobs"]
    ]
    missing = [member["trace_id"] for member in lowest if member["trace_id"] not in there]
    if missing:
        more = json.loads(report(source, _TOP, read, scope="document", traces=missing).to_json())
        content["traces"] += more["traces"]
    return content
