"""The log of a program: recordings, experiments and verifications add to it, a person decides, and all of it is shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from traceq.app.report import report
from traceq.app.source import Sources, as_list
from traceq.app.view import View
from traceq.diagnosis.choose import number_findings
from traceq.errors import StoreError, TraceqError
from traceq.reports.document import Block
from traceq.reports.losses import describe_losses
from traceq.reports.model import TraceReport
from traceq.reports.program_log import compose_log, encode_log, hide_places
from traceq.reports.savings import step_ns
from traceq.reports.sections.headline import find_critical_trace, write_headline
from traceq.runs.losses import LossDifference
from traceq.runs.program_log import (
    NAME,
    Decision,
    LogEntry,
    LogRead,
    append_entries,
    format_now,
    log_experiment,
    log_verification,
    read_log,
)
from traceq.runs.program_tries import find_finding
from traceq.runs.trials.experiment import Experiment
from traceq.runs.verify.verify import Verification

Tell = Callable[[str], None]


class LogView(View[LogRead]):
    """The page on findings and tries of programs; `content` are the entries of their logs."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on findings, tries and decisions as blocks, for plain text."""
        return compose_log(self.content)

    def markdown_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page that is passed on: no folder, no user, no secret that has a sign."""
        return compose_log(hide_places(self.content))

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page that is passed on, as for Markdown."""
        return self.markdown_blocks()

    def to_json(self) -> str:
        """Return the entries as JSON text, for programs."""
        return encode_log(self.content)


def show_log(folders: Sequence[Path]) -> LogView:
    """Read the logs in these folders, and in the folders that lie directly in them. Raises StoreError if there is none."""
    return LogView(read_log(_find_logs(folders)))


def _find_logs(folders: Sequence[Path]) -> list[Path]:
    """Return the paths of the logs of these folders. Raises StoreError if there is none, or one of the folders is missing."""
    found: dict[Path, None] = {}
    for folder in folders:
        if not folder.exists():
            raise StoreError(f"{folder}: no such folder: name one that traceq record or traceq experiment wrote to")
        if folder.is_file():
            found[folder] = None
            continue
        found |= dict.fromkeys(entry for entry in (folder / NAME, *sorted(folder.glob(f"*/{NAME}"))) if entry.is_file())
    if not found:
        names = ", ".join(map(str, folders))
        raise StoreError(
            f"{names}: no {NAME} there or one folder below: traceq record and traceq experiment write one in their folder"
        )
    return list(found)


def add_decision(
    folders: Sequence[Path], finding: str | None, decision: Decision | None, reason: str
) -> tuple[Path, LogEntry]:
    """Add what a person decided on a finding, or a note; return the log's path and the entry.

    It goes to the log that has the finding, or the latest entry. Raises NoSuchFinding if no log has it.
    """
    files = _find_logs(folders)
    read = {file: read_log([file]).entries for file in files}
    every = sorted((entry for entries in read.values() for entry in entries), key=lambda entry: entry.at)
    about = None if finding is None else find_finding(every, finding)
    at_home = about or (every[-1] if every else None)
    file = next((file for file, entries in read.items() if at_home in entries), files[0])
    entry = LogEntry(format_now(), "hand", decision=decision, reason=reason)
    if about is not None:
        entry = replace(entry, program=about.program, rule=about.rule, finding_id=about.finding_id, title=about.title)
    append_entries(file.parent, [entry])
    return file, entry


def keep_recording(folder: Path, command: Sequence[str], database: Path, tell: Tell) -> None:
    """Add the findings of a recording to the log in its folder; `tell` gets a line where that fails."""
    try:
        append_entries(folder, _log_recording(command, database))
    except TraceqError as error:
        tell(f"the findings are not in the log: {error}")


def _log_recording(command: Sequence[str], database: Path) -> list[LogEntry]:
    """Return an entry for each finding of the trace that the report is about, or one with its verdict."""
    view = report(database, scope="document")
    content = view.content
    trace = write_headline(content).trace or find_critical_trace(content)[0]
    mean = trace.steps.mean_ns
    bare = LogEntry(
        format_now(),
        "record",
        program=shlex.join(command),
        source=database.name,
        step_ns=None if mean is None else round(mean),
    )
    found = list(_log_findings(bare, trace))
    return found or [replace(bare, outcome=write_headline(content).verdict.outcome, reason=view.verdict)]


def _log_findings(bare: LogEntry, trace: TraceReport) -> Iterable[LogEntry]:
    """Yield an entry for each finding of the trace, with what `bare` has."""
    for number, finding in number_findings(trace.findings):
        step = step_ns(finding)
        stack = trace.stacks.get(finding.finding_id)
        yield replace(
            bare,
            number=number,
            rule=finding.rule,
            finding_id=finding.finding_id,
            title=finding.title,
            where=None if stack is None else stack.line,
            confidence=finding.confidence,
            predicted=finding.saving_ns / step if step and not finding.only_bounds else None,
            predicted_low=finding.saving_low_ns / step if step else None,
            predicted_high=finding.saving_high_ns / step if step else None,
        )


def keep_experiment(found: Experiment, folder: Path, command: Sequence[str], tell: Tell) -> None:
    """Add what an experiment tried to the log in its folder; `tell` gets a line where that fails."""
    try:
        changed = {result.setting.name: why for result in found.results if (why := _describe_change(result.losses))}
        append_entries(folder, log_experiment(found, command, folder.name, changed))
    except TraceqError as error:
        tell(f"the tries are not in the log: {error}")


def keep_verification(found: Verification, folder: Path, before: Sources, after: Sources) -> None:
    """Add what a fix won to the log in the folder. Raises StoreError if it cannot be written."""
    changed = _describe_change(found.losses)
    append_entries(folder, [log_verification(found, _name_runs(before), _name_runs(after), changed)])


def _describe_change(losses: LossDifference | None) -> str | None:
    """Return how the results of the program changed; None where they did not, or nothing tells."""
    return (
        f"the results changed: {describe_losses(losses)}" if losses is not None and losses.state == "changed" else None
    )


def _name_runs(sources: Sources) -> str:
    """Return the names of the runs' files, without folders."""
    return " ".join(Path(source).name for source in as_list(sources))
