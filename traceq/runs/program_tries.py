"""A program's log, entry by entry and together: findings with their tries, and what was decided on them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePath

import msgspec

from traceq.errors import NoSuchFinding
from traceq.runs.program_log import Decision, LogEntry

_SCRIPTS = (".py", ".sh")


class FindingTried(msgspec.Struct, frozen=True):
    """A finding: `found` as it was last found or tried, its `tries`, first the earliest, and what was decided.

    `is_gone`: a recording has it, and the latest has not. `decided` is the entry that decided, a person's before
    traceq's; None while it is open.
    """

    found: LogEntry
    tries: tuple[LogEntry, ...]
    decided: LogEntry | None
    is_gone: bool

    @property
    def final_decision(self) -> Decision | None:
        """The decision on the finding; None while it is open."""
        return None if self.decided is None else self.decided.decision

    @property
    def best_try(self) -> LogEntry | None:
        """The kept try that won most, else the try that won most; None without a measured one."""
        measured = [entry for entry in self.tries if entry.won is not None]
        kept = [entry for entry in measured if entry.decision == "keep"]
        return max(kept or measured, key=lambda entry: entry.won or 0.0, default=None)


class ProgramTried(msgspec.Struct, frozen=True):
    """A program (the name of its script, or its command), its recordings by time, findings, other tries, and notes.

    A recording stands for itself by its first entry, with the number of its findings.
    """

    name: str
    command: str | None
    recordings: tuple[tuple[LogEntry, int], ...]
    findings: tuple[FindingTried, ...]
    others: tuple[LogEntry, ...]
    notes: tuple[LogEntry, ...]

    @property
    def every_try(self) -> tuple[LogEntry, ...]:
        """All tries, the earliest first."""
        tried = [*self.others, *(entry for finding in self.findings for entry in finding.tries)]
        return tuple(sorted(tried, key=lambda entry: entry.at))


def find_finding(entries: Sequence[LogEntry], name: str) -> LogEntry:
    """Return the latest entry that found the finding `name`: F1 of the latest recording, else an id or a rule.

    Raises NoSuchFinding, with the names that there are.
    """
    wanted = name.casefold()
    latest = _last_recording(entries)
    numbered = [entry for entry in latest if (entry.number or "").casefold() == wanted]
    named = [entry for entry in entries if entry.finding_id == name] or [
        entry for entry in entries if entry.rule == name
    ]
    if found := numbered or named:
        return found[-1]
    known = ", ".join(f"{entry.number} ({entry.finding_id})" for entry in latest if entry.number)
    ids = ", ".join(dict.fromkeys(entry.finding_id for entry in entries if entry.finding_id))
    raise NoSuchFinding(f"{name}: no such finding in the log; there are {known or ids or 'none'}")


def _last_recording(entries: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the entries of the latest recording."""
    recorded = [entry for entry in entries if entry.by == "record"]
    return [entry for entry in recorded if (entry.at, entry.source) == (recorded[-1].at, recorded[-1].source)]


def tell_programs(entries: Sequence[LogEntry]) -> tuple[ProgramTried, ...]:
    """Return what the entries, in the order of time, say of each program, the latest recorded or tried one last."""
    grouped: dict[str, list[LogEntry]] = {}
    homes: dict[str | None, str] = {}
    name = ""
    for entry in entries:
        # What says nothing of a program is about the one whose finding it is, or about the one before.
        name = script_of(entry.program) if entry.program else homes.get(entry.finding_id, name)
        grouped.setdefault(name, []).append(entry)
        homes[entry.finding_id or ""] = name
    return tuple(_tell_program(name, group) for name, group in grouped.items())


def script_of(command: str) -> str:
    """Return the name by which commands are one program: its script's or module's, without folders, else the first word."""
    words = command.split() if command.count("'") % 2 else shlex.split(command)
    after_m = next((words[at + 1] for at, word in enumerate(words[:-1]) if word == "-m"), None)
    script = next((PurePath(word).name for word in words if PurePath(word).suffix in _SCRIPTS), after_m)
    return script or (PurePath(words[0]).name if words else "")


def _tell_program(name: str, entries: Sequence[LogEntry]) -> ProgramTried:
    """Return what the entries say of their program."""
    recorded = [entry for entry in entries if entry.by == "record"]
    recordings: dict[tuple[str, str | None], list[LogEntry]] = {}
    for entry in recorded:
        recordings.setdefault((entry.at, entry.source), []).append(entry)
    ids = dict.fromkeys(entry.finding_id for entry in entries if entry.finding_id is not None)
    findings = [_tell_finding(finding_id, entries) for finding_id in ids]
    return ProgramTried(
        name,
        next((entry.program for entry in reversed(entries) if entry.program), None),
        tuple((group[0], sum(entry.finding_id is not None for entry in group)) for group in recordings.values()),
        tuple(sorted(findings, key=_order_finding)),
        tuple(
            entry for entry in entries if entry.finding_id is None and entry.change is not None and entry.by != "hand"
        ),
        tuple(entry for entry in entries if entry.by == "hand"),
    )


def _order_finding(finding: FindingTried) -> tuple[bool, float]:
    """Return the order of findings: those that are still there first, then the largest prediction."""
    return finding.is_gone, -(finding.found.predicted or finding.found.predicted_high or 0.0)


def _tell_finding(finding_id: str, entries: Sequence[LogEntry]) -> FindingTried:
    """Return the finding with its tries and the decision."""
    about = [entry for entry in entries if entry.finding_id == finding_id]
    recorded = [entry for entry in about if entry.by == "record"]
    predicted = [entry for entry in about if entry.predicted is not None or entry.predicted_high is not None]
    found = (recorded or predicted or about)[-1]
    tries = [entry for entry in about if entry.change is not None and entry.by in ("experiment", "verify")]
    decided = _last_decided(entry for entry in about if entry.by == "hand") or _last_decided(tries)
    kept = [entry for entry in tries if entry.decision == "keep"]
    is_gone = bool(recorded) and found not in _last_recording(entries)
    is_by_hand = decided is not None and decided.by == "hand"
    return FindingTried(found, tuple(tries), decided if is_by_hand or not kept else kept[-1], is_gone)


def _last_decided(entries: Iterable[LogEntry]) -> LogEntry | None:
    """Return the last entry with a decision; None if there is none."""
    return next((entry for entry in reversed(list(entries)) if entry.decision is not None), None)
