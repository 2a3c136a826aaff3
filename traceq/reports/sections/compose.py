"""The words of the report: from a Report to a document of headings, tables and queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.analysis.categories import BUSY
from traceq.common.text import shortened
from traceq.common.units import count, duration, share
from traceq.reports.document import (
    Bar,
    Block,
    Flame,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Query,
    Reference,
    Table,
    Title,
    Tracks,
    Warn,
)
from traceq.reports.model import DeviceLedger, Host, HostTime, LedgerPart, Note, Report, TraceReport
from traceq.reports.savings import step_share
from traceq.reports.sections.capture import capture, quality
from traceq.reports.sections.communication import communication, no_communication
from traceq.reports.sections.copies import copies, no_copies
from traceq.reports.sections.critical_path import critical_path, no_critical_path
from traceq.reports.sections.data import data, no_data
from traceq.reports.sections.findings import finding_queries, findings
from traceq.reports.sections.headline import headline
from traceq.reports.sections.idle import gaps, outliers, training_thread
from traceq.reports.sections.kernels import kernels, no_kernels
from traceq.reports.sections.marks import marks
from traceq.reports.sections.memory import memory, no_memory
from traceq.reports.sections.missing import way
from traceq.reports.sections.outcomes import outcomes
from traceq.reports.sections.pictures import ranks_picture
from traceq.reports.sections.serving import serving
from traceq.reports.sections.steps import steps

_MOST_IN_OVERVIEW = 500
_NOTE_LIMIT = 600


def compose(report: Report, *, folds: bool = False, draws: bool = False) -> Iterator[Block]:
    """The whole report, trace by trace; for formats that can show blocks folded, and such that can show tracks."""
    yield Heading(1, ("traceq report",))
    yield Paragraph(
        (
            "Each section ends with the query that gives its numbers again; DB is the trace database, which ",
            Literal("traceq ingest SOURCE -o DB"),
            " makes of a trace.",
        )
    )
    if not report.traces:
        yield Warn(("The database holds no trace.",))
    if len(report.traces) > 1:
        yield from _overview(report)
    for trace in report.traces:
        yield from _trace(trace, folds=folds, draws=draws)


def _overview(report: Report) -> Iterator[Block]:
    yield Heading(2, (f"{len(report.traces)} traces",))
    yield Table(
        ("trace", "file", "run", "rank", "steps", "p50", "fix first", "wins per step"),
        tuple(map(_overview_row, report.traces[:_MOST_IN_OVERVIEW])),
        text_columns=(0, 1, 2, 3, 6),
    )
    if len(report.traces) > _MOST_IN_OVERVIEW:
        yield Paragraph((f"... and {len(report.traces) - _MOST_IN_OVERVIEW} more.",))
    yield from ranks_picture(report)
    yield Query(report.query)


def _overview_row(report: TraceReport) -> tuple[str, ...]:
    facts = report.trace
    first = report.findings[0] if report.findings else None
    return (
        Reference(f"t{facts.trace_id}"),
        Name(facts.file),
        Name(facts.run) if facts.run else "-",
        "-" if facts.rank is None else str(facts.rank),
        count(report.steps.counted),
        duration(report.steps.p50),
        Title(first.title) if first else "-",
        f"{duration(first.saving_ns)} ({step_share(first)})" if first else "-",
    )


def _trace(report: TraceReport, *, folds: bool, draws: bool) -> Iterator[Block]:
    facts = report.trace
    yield Heading(2, (f"Trace {facts.trace_id}: ", Name(facts.file)), anchor=f"t{facts.trace_id}")
    yield from _lost(report.notes)
    yield from headline(report)
    yield from findings(report, folds=folds, draws=draws)
    yield from capture(report)
    yield from steps(report)
    yield from marks(report)
    yield from serving(report)
    yield from _ledger(report)
    yield from critical_path(report)
    if draws:
        yield from _timelines(report)
    yield from gaps(report)
    yield from outliers(report)
    yield from training_thread(report)
    yield from _topics(report)
    if report.host:
        yield from _host(report.host, report.queries)
    yield from outcomes(report)
    yield from quality(report)
    yield from _notes(report)
    if not folds:
        yield from finding_queries(report)


def _timelines(report: TraceReport) -> Iterator[Block]:
    if report.over_time:
        yield Heading(3, ("Steps over time",), anchor="timelines")
        yield Tracks(report.over_time)
    if report.flame:
        yield Heading(3, ("Time by call path",), anchor="flame")
        yield Flame(report.flame)


def _topics(report: TraceReport) -> Iterator[Block]:
    """A section for each topic the trace says something of, and for the others a line each."""
    for section in (copies, communication, kernels, data, memory):
        yield from section(report)
    missing = [
        line
        for lines in (no_critical_path, no_copies, no_communication, no_kernels, no_data, no_memory)
        for line in lines(report)
    ]
    if missing and report.steps.source is not None:
        yield Heading(3, ("Not in the trace, or not recorded",))
        yield Items(tuple(missing))


def _lost(notes: Sequence[Note]) -> Iterator[Block]:
    for note in notes:
        if note.severity != "info":
            kind = "Incomplete capture" if note.severity == "error" else "Data lost on import"
            yield Warn((f"{kind}: ", _note(note)))


def _ledger(report: TraceReport) -> Iterator[Block]:
    if not report.ledger:
        return
    yield Heading(3, ("Where the time went",))
    yield Paragraph(
        (
            f"Per GPU every nanosecond of the {report.period} is in ",
            "one category: compute while any compute kernel runs, else communication, else copies, ",
            "else memset, else idle, by what the host was doing meanwhile.",
        )
    )
    for device in report.ledger:
        yield Heading(4, (f"GPU {device.device}: ", Name(device.name or "name not in the trace")))
        yield _ledger_table(device, report.steps.counted, report.unit)
        yield Bar(_in_order_of_precedence(device.parts))
    graphs = report.trace.gpu_slices.get("graph", 0)
    if graphs:
        yield Warn(
            (
                f"CUDA graph launches that were traced as a whole: {count(graphs)}. They count as compute; ",
                "communication, copies and idle time inside them cannot be seen.",
                *way("graph_nodes", report.trace.format, " Capture with ", "."),
            )
        )
    yield Query(report.queries["ledger"])


def _in_order_of_precedence(parts: Sequence[LedgerPart]) -> tuple[tuple[str, float], ...]:
    """(category, share) in the same order for every GPU, so that bars can be compared; idle time of any cause is one."""
    idle = sum(part.share for part in parts if part.category.startswith("idle"))
    busy = [part for part in parts if not part.category.startswith("idle")]
    shares = tuple((part.category, part.share) for part in sorted(busy, key=lambda part: _rank(part.category)))
    return (*shares, ("idle", idle)) if idle else shares


def _rank(category: str) -> int:
    return BUSY.index(category) if category in BUSY else len(BUSY)


def _ledger_table(device: DeviceLedger, counted: int, unit: str) -> Table:
    rows: list[tuple[str, str, str, str]] = [
        (Literal(part.category), duration(part.dur), duration(part.per_step), share(part.share))
        for part in device.parts
    ]
    rows.append(("sum", duration(device.total), duration(device.total / counted), share(1.0)))
    if unit == "window":
        return Table(("category", "time", "share"), tuple((name, total, part) for name, total, _, part in rows))
    return Table(("category", "all steps", "per step", "share"), tuple(rows))


def _host(host: Host, queries: dict[str, str]) -> Iterator[Block]:
    yield Heading(3, ("What the host did",))
    yield Paragraph(("Times of all threads are added: they are not parts of a step.",))
    if host.annotations:
        yield _host_table("outermost annotation", "time", host.annotations)
        yield Query(queries["host_annotations"])
    if host.operators:
        yield _host_table("operator", "self time", host.operators)
        yield Query(queries["host_operators"])
    if not host.annotations and not host.operators:
        yield Paragraph(("The trace holds neither annotations nor operators.",))


def _host_table(what: str, time: str, rows: Sequence[HostTime]) -> Table:
    return Table(
        (what, "count", time, "longest"),
        tuple((Name(row.name), count(row.count), duration(row.dur), duration(row.longest)) for row in rows),
    )


def _notes(report: TraceReport) -> Iterator[Block]:
    yield Heading(3, ("Import notes",))
    if not report.notes:
        yield Paragraph(("None: everything in the file was understood.",))
    else:
        yield Items(tuple((f"{note.severity}: ", _note(note)) for note in report.notes))
    yield Query(report.queries["notes"])


def _note(note: Note) -> str:
    return shortened(f"{note.text} ({note.code}, {count(note.count)}x)", _NOTE_LIMIT)
