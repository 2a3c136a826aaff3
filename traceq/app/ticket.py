"""Ticket: the report in at most 10 KB, to be shown to others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from traceq.app.compare import compare
from traceq.app.compare_memory import is_snapshot
from traceq.app.read_options import AS_FOUND, ReadOptions, Which
from traceq.app.report import ReportView, report
from traceq.app.source import Source, database_of, is_trace
from traceq.diagnosis.subject import Goal
from traceq.errors import WrongUse
from traceq.loading.sources import paths_of
from traceq.reports.model import Report
from traceq.reports.redact import redact_report, redact_together
from traceq.reports.ticket import Site, Ticket, render_ticket
from traceq.runs.compare.comparison import Comparison

# Findings that a ticket counts.
_TOP = 20


class TicketText(NamedTuple):
    """A ticket as text in the markup of its site, and its verdict in one line."""

    text: str
    verdict: str


def ticket(
    source: Source,
    read: ReadOptions = AS_FOUND,
    *,
    against: Source | None = None,
    site: Site = "github",
    goal: Goal = "throughput",
    rules: Sequence[str | Path] = (),
    traces: Sequence[int] = (),
    rank: int | None = None,
) -> TicketText:
    """Return the report on a source as a short ticket for GitHub, GitLab or Jira, with names of hosts, users and paths replaced.

    `against` is a base to compare with: a trace database, trace or baseline, by path or name; logs beside `source` are none
    of its. `traces` are the trace_ids to report on (all if empty), `rank` the rank to report on and compare. Raises the
    errors of `report` and `compare`.
    """
    found = None
    if against is not None and (is_snapshot(source) or is_snapshot(against)):
        raise WrongUse(f"Memory snapshots are compared by their peaks, not by steps: traceq compare {against} {source}")
    with ExitStack() as stack:
        database = stack.enter_context(database_of(source, read))
        writes = ReadOptions(writes=read.writes)
        view = report(database, _TOP, writes, goal=goal, rules=rules, scope="document", traces=traces, rank=rank)
        if against is not None:
            alone = replace(read, logs=(), offset=None, log_formats=())
            base = stack.enter_context(database_of(against, alone)) if is_trace(against) else against
            found = compare(base, database, Which(rank), writes).content
    made = _redact(view.content, found, tuple(_list_options(goal, read)))
    return TicketText(render_ticket(made, site), ReportView(made.report).verdict)


def _redact(content: Report, found: Comparison | None, options: tuple[str, ...]) -> Ticket:
    """Return the content of a ticket: the report, and the comparison if there is one, with names replaced alike in both."""
    if found is None:
        return Ticket(redact_report(content), options=options)
    shown, comparison = redact_together(content, found)
    return Ticket(shown, comparison, options)


def _list_options(goal: Goal, read: ReadOptions) -> Iterator[str]:
    """Yield the options that change numbers, as words of a command line.

    Expressions and files are hidden, as they may contain names.
    """
    if goal != "throughput":
        yield from ("--goal", goal)
    for option, value in read.choice_texts.items():
        yield from (f"--{option.replace('_', '-')}", option.upper() if option not in ("steps_per", "axes") else value)
    for words, files in ((("--with", "LOG"), read.logs), (("--log-format", "TOML"), read.log_formats)):
        for _ in paths_of(files):
            yield from words
    if read.offset is not None:
        yield f"--offset={read.offset:g}"
