"""The report as a ticket takes it: verdict, comparison, three findings with evidence, and how to get the same numbers.

At most 10 KB whatever the traces hold: texts are cut, and where that is not enough, evidence and findings are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Literal as OneOf

import msgspec
from msgspec.structs import replace

from traceq.common.text import shortened
from traceq.common.units import cell, column_title, count, duration, share, some
from traceq.common.version import __version__
from traceq.diagnosis.finding import Evidence, Finding
from traceq.reports.comparison.ticket import compare_command, compose_summary
from traceq.reports.document import (
    Block,
    Facts,
    Fold,
    Heading,
    Items,
    Ledger,
    Literal,
    Name,
    Paragraph,
    Spans,
    Table,
    Title,
    Warn,
    split_code,
)
from traceq.reports.fit import pick_fitting
from traceq.reports.model import Report, TraceReport
from traceq.reports.renderers.to_jira import blocks_to_jira
from traceq.reports.renderers.to_markdown import blocks_to_markdown
from traceq.reports.savings import cumulative_text, saving_bounds, saving_share_text
from traceq.reports.sections.header import header_line
from traceq.reports.sections.headline import find_critical_trace, write_headline
from traceq.reports.sections.job_findings import list_job_findings
from traceq.reports.sections.jobs import find_job
from traceq.reports.sections.notes import list_warnings
from traceq.reports.sections.outcomes import frequent_reasons
from traceq.reports.sections.snapshot import is_snapshot
from traceq.reports.sections.where_time_goes import show_where_time_goes
from traceq.runs.compare.comparison import Comparison

# Bytes of UTF-8.
LIMIT = 10_240

Site = OneOf["github", "gitlab", "jira"]
_RENDERERS: Mapping[Site, Callable[[Iterable[Block]], str]] = {
    "github": blocks_to_markdown,
    "gitlab": blocks_to_markdown,
    "jira": blocks_to_jira,
}
SITES = tuple(_RENDERERS)

_COLUMNS, _NAME = 6, 60
_MOST_TRACES, _MOST_REASONS, _MOST_WARNINGS = 8, 6, 2
_CUT = "[The ticket was cut here: traceq report prints all of it.]\n"


class _TicketSize(msgspec.Struct, frozen=True):
    """The limits of a ticket: findings in its table, findings in full, rows of evidence, characters of a text."""

    ranked: int
    findings: int
    rows: int
    text: int


_SIZES = (
    _TicketSize(8, 3, 3, 600),
    _TicketSize(6, 3, 1, 400),
    _TicketSize(4, 3, 0, 250),
    _TicketSize(3, 1, 0, 120),
    _TicketSize(1, 1, 0, 60),
)


class Ticket(msgspec.Struct, frozen=True):
    """The content of a ticket: a report, and the comparison with a base if there is one.

    `options` are the words of the command line that made both, for the commands in the ticket.
    """

    report: Report
    comparison: Comparison | None = None
    options: tuple[str, ...] = ()


def render_ticket(ticket: Ticket, site: Site) -> str:
    """Return the ticket in the markup of the site, at most 10,240 bytes."""
    texts = (_RENDERERS[site](_compose_ticket(ticket, size)) for size in _SIZES)
    text = pick_fitting(texts, _fits)
    return text if _fits(text) else _cut(text)


def _fits(text: str) -> bool:
    return len(text.encode()) <= LIMIT


def _cut(text: str) -> str:
    """Return as many whole lines of the text as fit the limit, and a note."""
    kept, room = [], LIMIT - len(_CUT.encode())
    for line in text.splitlines(keepends=True):
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    return "".join(kept) + _CUT


def _compose_ticket(ticket: Ticket, size: _TicketSize) -> Iterator[Block]:
    traces = ticket.report.traces
    yield Heading(1, ("traceq report",))
    headline = write_headline(ticket.report)
    yield replace(headline.verdict, lines=tuple(_shorten_spans(line, size.text) for line in headline.verdict.lines))
    if not traces:
        return
    first, why = find_critical_trace(ticket.report) if len(traces) > 1 else (traces[0], "")
    if headline.trace is not None and headline.trace is not first:
        first, why = headline.trace, ""
    yield Paragraph(_shorten_spans(header_line(first), size.text))
    if len(traces) > 1:
        yield Paragraph((f"{some(len(traces), 'trace')}. {why} What follows is of trace {first.trace.trace_id}.",))
    job = find_job(ticket.report.jobs)
    if job is not None and job.findings:
        yield Heading(2, ("The job",))
        yield from list_job_findings(replace(job, findings=job.findings[: size.ranked]), in_full=False)
    if ticket.comparison is not None:
        yield Heading(2, ("Compared with the base",))
        # Its own headings would stand beside that.
        yield from (_below(block) for block in compose_summary(ticket.comparison))
    yield from _compose_findings(first, size)
    yield from _compose_ledger(first)
    yield from _compose_capture(first, size)
    yield from _compose_repeat(ticket, first)


def _below(block: Block) -> Block:
    return Heading(block.level + 1, block.spans) if isinstance(block, Heading) else block


def _shorten_spans(spans: Spans, limit: int) -> Spans:
    """Return the spans with each text cut to `limit` characters; each keeps its type."""
    return tuple(type(text)(shortened(text, limit)) for text in spans)


def _compose_findings(report: TraceReport, size: _TicketSize) -> Iterator[Block]:
    if not report.findings:
        yield from _compose_reasons(report, size)
        return
    yield Heading(2, ("What to fix",))
    rows = []
    for number, each in enumerate(report.findings[: size.ranked], 1):
        likely, part = ("-", "-") if each.only_bounds else (duration(each.saving_ns), saving_share_text(each))
        together = cumulative_text(report.findings[:number])
        title = Title(shortened(each.title, size.text))
        rows.append((f"F{number}", title, likely, part, saving_bounds(each), together, each.confidence))
    header = ("", "finding", f"saves per {report.unit}", "share", "bounds", "cumulative", "confidence")
    yield Table(header, tuple(rows), text_columns=(0, 1, 6))
    more = len(report.findings) - len(rows) + report.findings_left_out
    if more > 0:
        yield Paragraph(
            (
                f"{some(more, 'more finding')}: ",
                Literal("traceq report"),
                " lists them.",
            )
        )
    for number, each in enumerate(report.findings[: size.findings], 1):
        yield from _finding(number, each, size, report)


def _finding(number: int, finding: Finding, size: _TicketSize, report: TraceReport) -> Iterator[Block]:
    yield Heading(3, (f"F{number}. {shortened(finding.title, size.text)}",))
    yield Facts(
        (
            ("fix", split_code(shortened(finding.fix, size.text))),
            ("unless", (shortened(finding.wrong_if, size.text),)),
            ("confidence", (f"{finding.confidence}. {shortened(finding.confidence_reason, size.text)}",)),
            ("id", (Name(finding.finding_id),)),
        )
    )
    if finding.instances.rows and size.rows:
        title = f"Evidence for F{number}: the {some(min(size.rows, len(finding.instances.rows)), 'largest occurrence')}"
        yield Fold((title,), (_evidence(finding.instances, size.rows, report.trace.begin_ns),))


def _evidence(evidence: Evidence, rows: int, begin: int | None) -> Table:
    """Return a table of the first `rows` of the evidence; times count from `begin`, ns."""
    columns = evidence.columns[:_COLUMNS]
    cells = tuple(
        tuple(_cell(column, value, begin) for column, value in zip(columns, row, strict=False))
        for row in evidence.rows[:rows]
    )
    texts = tuple(index for index in range(len(columns)) if any(isinstance(row[index], Name) for row in cells))
    return Table(tuple(map(column_title, columns)), cells, text_columns=texts)


def _cell(column: str, value: float | str | None, begin: int | None) -> str:
    if value is None:
        return "-"
    return Name(shortened(value, _NAME)) if isinstance(value, str) else cell(column, value, begin)


def _compose_reasons(report: TraceReport, size: _TicketSize) -> Iterator[Block]:
    """Yield the section on why rules cannot tell, for a ticket without findings."""
    ordered = frequent_reasons(report)
    if not ordered:
        return
    yield Heading(2, ("What this capture cannot tell",))
    yield Items(
        tuple(
            (f"{some(len(names), 'rule')} ({', '.join(names[:3])}): {shortened(reason, size.text)}",)
            for reason, names in ordered[:_MOST_REASONS]
        )
    )
    if len(ordered) > _MOST_REASONS:
        yield Paragraph((f"{some(len(ordered) - _MOST_REASONS, 'more reason')}: ", Literal("traceq doctor"), "."))


def _compose_ledger(report: TraceReport) -> Iterator[Block]:
    """Yield the ledger as a table; nothing for a memory snapshot, which has no steps."""
    if is_snapshot(report):
        return
    for block in show_where_time_goes(report):
        if isinstance(block, Ledger):
            yield Heading(2, block.title)
            yield Paragraph((f"{block.total}:",))
            rows = tuple(
                (row.label, row.text, share(row.share), " ".join(filter(None, (*row.owners, row.verdict))))
                for row in block.rows
            )
            yield Table(("", f"per {report.unit}", "share", "findings"), rows, text_columns=(0, 3))


def _compose_capture(report: TraceReport, size: _TicketSize) -> Iterator[Block]:
    facts, steps = report.trace, report.steps
    yield Heading(2, ("Capture",))
    profiler = " ".join(filter(None, (facts.producer or facts.format, facts.producer_version)))
    rows: list[tuple[str, Spans]] = [("profiler", (Name(shortened(profiler, _NAME)),))]
    if is_snapshot(report):
        gpus = ", ".join(str(each.device) for each in report.topics.memory.snapshot)
        yield Facts((*rows, ("GPUs", (gpus or "none",))))
        return
    rows += [
        (
            "GPUs",
            (", ".join(shortened(each.name or "no name", _NAME) for each in report.devices if each.slices) or "none",),
        ),
        ("rank", ("not in the trace" if facts.rank is None else f"{facts.rank} of {count(facts.world_size)}",)),
        ("steps", (f"{count(steps.counted)} counted, {count(len(steps.excluded))} left out; found by {steps.source}",)),
        ("mean, median", (f"{duration(steps.mean_ns)}, {duration(steps.p50_ns)}",)),
    ]
    if facts.overhead_share is not None:
        rows.append(("profiler overhead", (f"{share(facts.overhead_share)} of a step",)))
    yield Facts(tuple(rows))
    for each in list(list_warnings(report.notes))[:_MOST_WARNINGS]:
        yield Warn(_shorten_spans(each.spans, size.text))


def _compose_repeat(ticket: Ticket, first: TraceReport) -> Iterator[Block]:
    """Yield the commands of traceq that give the ticket's numbers again, and the names of the traces' files.

    `first` is the trace that the ticket is about.
    """
    traces = ticket.report.traces
    files = [quote(shortened(each.trace.file, _NAME)) for each in traces[:_MOST_TRACES]]
    source = files[0] if len(files) == 1 else "job.duckdb"
    chosen = "" if len(traces) == 1 else f" --trace {first.trace.trace_id}"
    options = "".join(f" {quote(each)}" for each in ticket.options)
    more = " ..." if len(traces) > _MOST_TRACES else ""
    commands = [] if len(files) == 1 else [f"traceq ingest {' '.join(files)}{more}{options} -o job.duckdb"]
    # The steps of a database are those it was made with.
    options = options if len(files) == 1 else ""
    commands.append(f"traceq report {source}{chosen}{options}")
    if first.findings:
        commands.append(f"traceq report {source}{chosen}{options} --finding F1 --sql")
    if ticket.comparison is not None:
        commands.append(compare_command(ticket.comparison))
    yield Heading(2, ("To get the same numbers",))
    yield Paragraph((f"With traceq {__version__}:",))
    yield Items(tuple((Literal(each),) for each in commands))
    yield Table(("trace", "bytes", "SHA-256"), tuple(_files(ticket)), text_columns=(0, 2))
    if more:
        yield Paragraph((f"{some(len(traces) - _MOST_TRACES, 'more trace')}: the first are listed.",))
    yield Paragraph(("Names of files, hosts, users and of the program's own functions are replaced.",))


def _files(ticket: Ticket) -> Sequence[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (Name(shortened(each.trace.file, _NAME)), count(each.trace.size_bytes), Literal(each.trace.sha256))
        for each in ticket.report.traces[:_MOST_TRACES]
    ]
    known = {each.trace.sha256 for each in ticket.report.traces}
    if ticket.comparison is not None:
        for side in (ticket.comparison.base, ticket.comparison.new):
            rows += [
                (Name(shortened(run.file, _NAME)), "-", Literal(run.sha256))
                for run in side.runs[:_MOST_TRACES]
                if run.sha256 not in known
            ]
    return rows
