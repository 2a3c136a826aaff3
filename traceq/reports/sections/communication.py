"""The words about communication: how much of it compute hides, what waits for it, and per operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import count, duration, format_bandwidth, maybe, share, size
from traceq.reports.document import BarRow, Block, Heading, Name, Paragraph, Query, Spans, Table, make_table
from traceq.reports.model import TraceReport
from traceq.reports.sections.axes import list_axes_of_trace
from traceq.reports.sections.missing import capture_with, cite_plan, how_to_record
from traceq.reports.sections.pictures import draw_bars, draw_pictures
from traceq.reports.topics.communication import Blocking, Collective, CommunicationTotal, HostCollective

_LISTED = 8
_CELLS: dict[str, Callable[[Collective], str]] = {
    "operation": lambda row: row.op,
    "group": lambda row: Name(row.group_name) if row.group_name else "-",
    "ranks": lambda row: maybe(count, row.group_size),
    "count": lambda row: count(row.slices),
    "mean size": lambda row: "-" if row.bytes is None else size(round(row.bytes / row.slices)),
    "time": lambda row: duration(row.dur_ns),
    "exposed": lambda row: duration(row.exposed_ns),
    "blocking": lambda row: maybe(duration, row.blocking_ns),
    "bus bandwidth": lambda row: maybe(format_bandwidth, row.bus_gb_per_s),
}
_ALWAYS = ("operation", "count", "time", "exposed")


def describe_communication(report: TraceReport) -> Iterator[Block]:
    """Yield the section on communication; nothing if none ran, neither on a GPU nor on the host."""
    facts = report.topics.communication
    totals = [each for each in facts.totals if each.communication_ns]
    if not totals and not facts.on_host:
        return
    yield Heading(3, ("Communication",))
    if totals:
        yield from _describe_gpus(totals, report)
        yield from list_axes_of_trace(report)
        if facts.collectives:
            yield _collective_table(facts.collectives)
            yield from _say_unknown(facts.collectives, report)
            yield Query(report.queries["collectives"])
    if facts.on_host:
        yield Paragraph(("On the host (calls of all threads added up; not GPU time):",))
        yield _host_table(facts.on_host)
        yield Query(report.queries["host_collectives"])


def explain_no_communication(report: TraceReport) -> tuple[Spans, ...]:
    """Return a line on why there is no section on communication, as a tuple of one; empty if there is such a section."""
    facts = report.topics.communication
    if facts.on_host or any(each.communication_ns for each in facts.totals):
        return ()
    if any(each.opaque_ns for each in facts.totals):
        return (("Communication: none outside graphs; inside graphs it is not visible.",),)
    return ((f"Communication: none ran in the {report.period}.",),)


def _describe_gpus(totals: Sequence[CommunicationTotal], report: TraceReport) -> Iterator[Block]:
    """Yield how much communication is exposed on the GPU where it is most, bars of up to 8 GPUs, and what waited for it."""
    listed = sorted(totals, key=lambda each: -each.exposed_ns)[:_LISTED]
    worst = listed[0]
    blocking = {each.device: each for each in report.topics.communication.blocking}
    of_worst = blocking.get(worst.device)
    where = f" on GPU {worst.device}" if len(report.ledger) > 1 else ""
    per_step = "" if report.steps.is_window else f" ({duration(worst.exposed_ns / report.steps.counted)} per step)"
    behind = f"{duration(worst.overlapped_ns)} of it ({share(worst.overlapped_ns / worst.communication_ns)})"
    text = (
        f"Most exposed{where}: {duration(worst.communication_ns)} of communication,"
        f" {behind if worst.overlapped_ns else 'none of it'} behind compute,"
        f" {duration(worst.exposed_ns)} exposed{per_step}. "
    )
    yield Paragraph((text, *_explain_blocking(of_worst, report)))
    yield from draw_bars([_make_bar(each, blocking.get(each.device)) for each in totals if each in listed])
    if len(totals) > len(listed):
        yield Paragraph((f"{len(totals) - len(listed)} GPUs with less exposed communication are not shown.",))
    if any(each.opaque_ns for each in totals):
        yield Paragraph(("Communication in graphs that were traced as a whole counts as compute.",))
    yield from draw_pictures(report, "communication")
    yield Query(report.queries["communication"])
    if of_worst is not None and of_worst.blocking_ns:
        yield Query(report.queries["blocking"])


def _explain_blocking(blocking: Blocking | None, report: TraceReport) -> Spans:
    """Return a sentence on how long issued compute waited only for communication, or why that is unknown."""
    waited = "Launched compute waited"
    if blocking is not None and blocking.blocking_ns is not None:
        if blocking.known == blocking.slices:
            return (f"{waited} {duration(blocking.blocking_ns)} for communication alone.",)
        if blocking.blocking_ns:
            known = f"known for only {count(blocking.known)} of {count(blocking.slices)} collectives"
            return (f"{waited} at least {duration(blocking.blocking_ns)} for communication alone ({known}).",)
    return ("The trace does not show whether compute waited for it; ", *capture_with(report, "sync"), ".")


def _make_bar(total: CommunicationTotal, blocking: Blocking | None) -> BarRow:
    """Return a GPU's communication as a bar: behind compute, exposed while compute waited (blocking), and other exposed time."""
    exposed = float(total.exposed_ns)
    waited = float(blocking.blocking_ns or 0) if blocking else 0.0
    # Slices that run at once can block for the same time each, so together for longer than there was.
    waited = min(waited, exposed)
    parts = (
        ("behind compute", float(total.overlapped_ns)),
        *((("blocking", waited),) if waited else ()),
        ("exposed", exposed - waited),
    )
    return BarRow(f"GPU {total.device}", parts, duration(total.communication_ns))


def _collective_table(rows: Sequence[Collective]) -> Table:
    """Return a table of the collectives, without columns in which nothing is known."""
    known = {name: cell for name, cell in _CELLS.items() if name in _ALWAYS or any(cell(each) != "-" for each in rows)}
    if len({each.group_name for each in rows}) == 1:
        known.pop("group", None)
    return make_table(rows, known, text=(0, 1) if "group" in known else (0,))


def _say_unknown(rows: Sequence[Collective], report: TraceReport) -> Iterator[Block]:
    """Yield a sentence if message sizes or numbers of ranks are missing in all rows, with how to record sizes."""
    if all(each.bytes is None for each in rows):
        sizes = how_to_record(report, "message_bytes", "; ")
        yield Paragraph(
            ("Message sizes are not in the trace", *sizes, *(cite_plan("communication") if sizes else ()), ".")
        )
    elif all(each.group_size is None for each in rows):
        yield Paragraph(("The trace does not say how many ranks a group has, so bus bandwidth is not known.",))


def _host_table(rows: Sequence[HostCollective]) -> Table:
    return make_table(
        rows,
        {
            "library": lambda each: each.library,
            "operation": lambda each: each.op,
            "calls": lambda each: count(each.calls),
            "size": lambda each: maybe(size, each.bytes),
            "time": lambda each: duration(each.dur_ns),
            "longest": lambda each: duration(each.longest_ns),
        },
        text=(0, 1),
    )
