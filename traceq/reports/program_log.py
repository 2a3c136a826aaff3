"""The words about a program's log: what was found, what was tried, what it won, what was rejected and why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from msgspec.structs import replace

from traceq.common.text import printable, shortened, telling_nobody
from traceq.common.units import duration, some
from traceq.reports.document import (
    Block,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Spans,
    Table,
    Title,
    Warn,
    make_table,
)
from traceq.reports.renderers.json_text import json_text
from traceq.reports.trials.words import format_roughly
from traceq.runs.program_log import Decision, LogEntry, LogRead
from traceq.runs.program_tries import FindingTried, ProgramTried, tell_programs
from traceq.sharing.signs import hide_in_name, hide_in_sentence

SCHEMA_VERSION = 1

_TITLE, _CHANGE, _REASON, _COMMAND = 90, 30, 200, 400
_MOST_FAULTS, _MOST_RECORDINGS = 5, 5
_DAY, _MINUTE = 10, 16
# A path in a sentence (samples/s is none), and any in a word of a command: folders, then a name.
_PATH = re.compile(
    r"(?<![\w.:/\\\]-])(?:(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@+~\[\]-]*[/\\])*|(?:[\w@+~-][\w.@+~-]*[/\\])+(?=[\w@+~-]*\.\w))"
    r"(?P<name>[\w.@+~-]*)"
)
_IN_WORD = re.compile(r"(?<![:/\\])(?:~|[A-Za-z]:)?(?:[^\s/\\=:,]*[/\\])+(?P<name>[^\s/\\]*)")


def encode_log(content: LogRead) -> str:
    """Return the entries of the logs as JSON text, with what was wrong with lines that were left out."""
    return json_text({"schema_version": SCHEMA_VERSION, "entries": content.entries, "left_out": content.faults})


def hide_places(content: LogRead) -> LogRead:
    """Return the logs without folders, users and secrets by their sign, as a page that is passed on has them."""
    return LogRead(
        tuple(map(_hide_in_entry, content.entries)),
        tuple(PurePath(file).name for file in content.files),
        tuple(map(_hide_in_text, content.faults)),
    )


def _hide_in_entry(entry: LogEntry) -> LogEntry:
    """Return the entry without folders, users and secrets."""
    texts = {name: getattr(entry, name) for name in ("source", "title", "where", "change", "reason", "finding_id")}
    hidden = {name: text if text is None else _hide_in_text(text) for name, text in texts.items()}
    program = None if entry.program is None else _hide_in_command(entry.program)
    return replace(entry, program=program, **hidden | {"reason": telling_nobody(_hide_in_text(entry.reason))})


def _hide_in_command(command: str) -> str:
    """Return a command whose words have no folders, users and secrets."""
    hidden = hide_in_name(command)
    try:
        words = shlex.split(hidden)
    except ValueError:  # of a log that was edited
        words = hidden.split()
    return " ".join(_IN_WORD.sub(lambda found: found["name"] or ".", word) for word in words)


def _hide_in_text(text: str) -> str:
    """Return a text without folders in its paths, and without secrets by their sign."""
    return _PATH.sub(lambda found: found["name"] or ".", hide_in_sentence(text))


def compose_log(content: LogRead) -> Iterator[Block]:
    """Yield the page on what was found and tried, for each program of the logs."""
    yield Heading(1, ("traceq log",))
    programs = tell_programs(content.entries)
    if not programs:
        yield Paragraph(("Nothing is in the log yet.",))
    for program in programs:
        yield from _compose_program(program)
    for fault in content.faults[:_MOST_FAULTS]:
        yield Warn((f"{printable(fault)}.",))
    if more := len(content.faults) - _MOST_FAULTS:
        yield from (Warn((f"and {some(more, 'more line')} left out",)) for _ in range(more > 0))


def _compose_program(program: ProgramTried) -> Iterator[Block]:
    """Yield the part about a program: what to know first, its findings, tries, what was rejected, and notes."""
    yield Heading(2, (Name(program.name or "unknown program"),), anchor="program")
    yield Paragraph(tuple(_summarize_program(program)))
    yield from _compose_recordings(program)
    if program.findings:
        yield Heading(3, ("What was found",))
        yield make_table(
            program.findings,
            {
                "": lambda entry: "-" if entry.is_gone else entry.found.number or "-",
                "finding": lambda entry: Title(
                    shortened(printable(entry.found.title or entry.found.rule or "-"), _TITLE)
                ),
                "predicted": lambda entry: _format_predicted(entry.found),
                "won": lambda entry: "-" if entry.best_try is None else _format_won(entry.best_try),
                "decision": _describe_decision,
            },
            text=(0, 1, 4),
        )
    yield from _compose_places(program.findings)
    if program.every_try:
        yield Heading(3, ("What was tried",))
        yield _tabulate_tries(program)
        yield Paragraph(
            (
                "Shares are of the step before. In brackets: the bounds of what was predicted, the interval of what was won.",
            )
        )
    yield from _list_items(_tell_rejected(program), "Rejected, and why")
    yield from _list_items(_tell_undecided(program), "Undecided, and why")
    yield from _list_items((_tell_note(entry) for entry in program.notes if entry.decision is None), "Notes")


def _list_items(items: Iterator[Spans], title: str) -> Iterator[Block]:
    """Yield the items under a title, if there are any."""
    if found := tuple(items):
        yield Heading(3, (title,))
        yield Items(found)


def _summarize_program(program: ProgramTried) -> Iterator[str]:
    """Yield the spans of the first sentence: what was kept, rejected and is open, and what to try next."""
    open_ = [entry for entry in program.findings if entry.final_decision is None and not entry.is_gone]
    tries = [entry for entry in program.every_try if entry.outcome != "not run"]
    decided = _count_decisions([entry.final_decision for entry in program.findings])
    yield f"{some(len(program.recordings), 'recording')}, {some(len(program.findings), 'finding')}"
    yield f" ({decided}); " if decided else "; "
    if tries:
        undecided = sum(entry.decision is None for entry in tries)
        counts = [_count_decisions([entry.decision for entry in tries]), f"{undecided} undecided" if undecided else ""]
        yield f"{some(len(tries), 'change')} tried: {', '.join(filter(None, counts))}."
    else:
        yield "nothing tried."
    untried = [entry for entry in open_ if not entry.tries]
    if untried:
        first = untried[0].found
        yield " Not tried yet: "
        yield Title(shortened(printable(first.title or first.rule or ""), _TITLE))
        yield f", predicted {_format_predicted(first)}" if first.predicted_high is not None else ""
        yield f", and {some(len(untried) - 1, 'more finding')}." if len(untried) > 1 else "."


def _count_decisions(decisions: Sequence[Decision | None]) -> str:
    """Return how many were kept and rejected, as "2 kept, 1 rejected"; empty for none."""
    counts = {"kept": decisions.count("keep"), "rejected": decisions.count("reject")}
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def _compose_recordings(program: ProgramTried) -> Iterator[Block]:
    """Yield the latest recordings: when, the command, the step, and the number of findings or the verdict."""
    items = []
    for first, number in program.recordings[-_MOST_RECORDINGS:]:
        step = "" if first.step_ns is None else f"{duration(first.step_ns)} a step, "
        found = some(number, "finding") if number else first.reason or "no finding"
        command = Literal(shortened(printable(first.program or ""), _COMMAND))
        items.append((f"{_minute_of(first)}: ", command, f": {step}", shortened(printable(found), _REASON)))
    if items:
        yield Heading(3, ("Recordings",))
        yield Items(tuple(items))


def _compose_places(findings: Sequence[FindingTried]) -> Iterator[Block]:
    """Yield the lines of the program that findings are at."""
    placed = [entry.found for entry in findings if entry.found.where]
    if placed:
        yield Items(
            tuple(
                (f"{entry.number or entry.rule}: at ", Name(shortened(printable(entry.where or ""), _REASON)))
                for entry in placed
            )
        )


def _describe_decision(finding: FindingTried) -> str:
    """Return the cell on what was decided: kept with what, rejected, gone, open or not tried."""
    decided = finding.decided
    if decided is not None:
        by = "by hand" if decided.by == "hand" else decided.change or ""
        return shortened(printable(f"{'kept' if decided.decision == 'keep' else 'rejected'}: {by}"), _CHANGE)
    if finding.is_gone:
        return "not in the latest recording"
    return "cannot tell" if finding.tries else "not tried"


def _tabulate_tries(program: ProgramTried) -> Table:
    """Return the table of tries."""
    return make_table(
        program.every_try,
        {
            "date": lambda entry: entry.at[:_DAY],
            "change": lambda entry: Name(shortened(printable(entry.change or ""), _CHANGE)),
            "for": lambda entry: Name(shortened(entry.rule or "-", _CHANGE)),
            "predicted": _format_predicted,
            "won": _format_won,
            "decision": lambda entry: {"keep": "kept", "reject": "rejected"}.get(entry.decision or "", "undecided"),
        },
        text=(0, 1, 2, 5),
    )


def _tell_rejected(program: ProgramTried) -> Iterator[Spans]:
    """Yield a line for each rejected try and each rejection by hand, with the reason."""
    rejected = [entry for entry in (*program.every_try, *program.notes) if entry.decision == "reject"]
    for entry in sorted(rejected, key=lambda entry: entry.at):
        what = (Literal(shortened(printable(entry.change), _CHANGE)),) if entry.change else ()
        for_finding = (" for " if what else "", Name(entry.rule)) if entry.rule else ()
        yield (
            *what,
            *for_finding,
            f" ({entry.by}, {entry.at[:_DAY]}): ",
            shortened(printable(entry.reason), _REASON),
        )


def _tell_undecided(program: ProgramTried) -> Iterator[Spans]:
    """Yield a line for each reason why tries are undecided, with the changes."""
    changes: dict[str, list[str]] = {}
    for entry in program.every_try:
        if entry.decision is None and entry.change and entry.reason:
            changes.setdefault(entry.reason, []).append(shortened(printable(entry.change), _CHANGE))
    for reason, names in changes.items():
        yield (*_join_literals(names), ": ", shortened(printable(reason), _REASON))


def _join_literals(names: Sequence[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        yield ", " if place else ""
        yield Literal(name)


def _tell_note(entry: LogEntry) -> Spans:
    about = (Name(entry.rule), ": ") if entry.rule else ()
    return (f"{entry.at[:_DAY]}: ", *about, shortened(printable(entry.reason), _REASON))


def _format_predicted(entry: LogEntry) -> str:
    """Return the predicted share with its bounds, as "31 % (17 to 34 %)"; a dash if nothing was predicted."""
    low, high = entry.predicted_low, entry.predicted_high
    if entry.predicted is None:
        return (
            "-"
            if low is None or high is None
            else format_roughly(high, (low, high)).partition("(")[2].removesuffix(")")
        )
    return format_roughly(entry.predicted, None if low is None or high is None else (low, high))


def _format_won(entry: LogEntry) -> str:
    """Return the share that was won, with its interval; the outcome where nothing was measured."""
    if entry.won is None:
        return entry.outcome or "-"
    low, high = entry.won_low, entry.won_high
    return format_roughly(entry.won, None if low is None or high is None else (low, high))


def _minute_of(entry: LogEntry) -> str:
    return f"{entry.at[:_MINUTE].replace('T', ' ')} UTC"
