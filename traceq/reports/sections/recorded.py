"""The words on records of collectives that were given with the trace: whether its collectives are usual ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from traceq.common.units import UNKNOWN, count, duration, format_bandwidth, maybe, share, short, size, some
from traceq.reports.document import Block, Heading, Literal, Paragraph, Query, Spans, make_table
from traceq.reports.model import TraceReport
from traceq.reports.topics.recorded import RecordFacts, UsualCollective

# Less than this difference from the usual is none worth telling.
_NEAR = 0.05

_CELLS: dict[str, Callable[[UsualCollective], str]] = {
    "operation": lambda row: row.op,
    "size": lambda row: size(row.bytes),
    "ranks": lambda row: maybe(count, row.group_size),
    "in trace": lambda row: count(row.count),
    "median": lambda row: duration(row.median_ns),
    "usual": lambda row: maybe(duration, row.usual_ns),
    "5 to 95 %": lambda row: (
        "-" if row.usual_low_ns is None else f"{duration(row.usual_low_ns)} to {duration(row.usual_high_ns)}"
    ),
    "bus": lambda row: maybe(format_bandwidth, row.bus_gb_per_s),
    "usual bus": lambda row: maybe(format_bandwidth, row.usual_gb_per_s),
    "records": lambda row: count(row.records),
}


def summarize_recorded(report: TraceReport) -> Iterator[Block]:
    """Yield a line on whether the traced collectives are usual; nothing without records."""
    for facts in report.records:
        yield Paragraph(judge_window(facts, report.recorded_collectives))


def describe_recorded(report: TraceReport) -> Iterator[Block]:
    """Yield the section on the records: the verdict, each operation in both, and slow links; nothing without records."""
    for facts in report.records:
        yield Heading(3, ("Collectives over the whole run",), anchor="recorded")
        yield Paragraph(judge_window(facts, report.recorded_collectives))
        if report.recorded_collectives:
            yield make_table(report.recorded_collectives, _CELLS)
            yield Paragraph((_explain_table(facts, report.recorded_collectives),))
        if facts.links:
            yield Paragraph(_tell_links(facts))
        yield Query(report.queries["recorded_collectives"])


def judge_window(facts: RecordFacts, rows: Sequence[UsualCollective]) -> Spans:
    """Return a sentence on how long the traced collectives take against the records, or on why that cannot be told."""
    known = [row for row in rows if row.usual_ns and row.usual_low_ns is not None and row.usual_high_ns is not None]
    if not known:
        return (f"Whether the traced collectives are usual: {UNKNOWN}, as {_explain_unknown(rows)}.",)
    took = sum(row.count * row.median_ns for row in known)
    usual, low, high = (
        sum(row.count * (getattr(row, name) or 0.0) for row in known)
        for name in ("usual_ns", "usual_low_ns", "usual_high_ns")
    )
    ratio = took / usual
    most = max(known, key=lambda row: row.traced_ns)
    against = (
        f"{most.op} of {size(most.bytes)} {duration(most.median_ns)}, usually {duration(most.usual_ns)}"
        f" ({some(facts.records, 'record')})"
    )
    if abs(ratio - 1) <= _NEAR or low <= took <= high:
        return (f"The traced collectives are usual: {against}.",)
    pace = f"{short(ratio)} times as long as usual" if ratio > 1 else f"only {short(ratio)} of the usual time"
    return (f"The traced collectives take {pace}: {against}.",)


def _explain_unknown(rows: Sequence[UsualCollective]) -> str:
    """Return why the records cannot tell what is usual."""
    if not rows:
        return "no operation has the same size and group in both"
    most = max(row.windows for row in rows)
    return f"the records hold fewer than 8 windows of as many operations as the trace (at most {most})"


def _explain_table(facts: RecordFacts, rows: Sequence[UsualCollective]) -> str:
    """Return what the columns of the table are, what the records are of, and how they were placed."""
    whose = "of this rank" if facts.is_own_known else "of all ranks, as it is not known which is the trace's"
    lasted = "" if facts.lasted_ns is None else f" over {duration(facts.lasted_ns)}"
    text = f"Usual: medians of windows of as many operations{lasted}, {whose}. Waiting for other ranks is in all times."
    paired = sum(row.paired for row in rows)
    if paired:
        ratios = [row.paired_ratio for row in rows if row.paired_ratio is not None]
        text += f" By communicator and number {some(paired, 'operation')} are in both, and differ by at most"
        text += f" {share(max(abs(ratio - 1) for ratio in ratios))} in the median."
    elif any(row.within for row in rows):
        text += f" By the clock {some(sum(row.within or 0 for row in rows), 'record')} are of the traced time."
    return text


def _tell_links(facts: RecordFacts) -> Spans:
    """Return a sentence on slow links in the records, with where to read on."""
    if facts.slow_links:
        are = "is" if facts.slow_links == 1 else "are"
        found = f"In the records {some(facts.slow_links, 'place')} of the network {are} slow: "
        return (found, Literal("traceq collectives FOLDER"), " names them.")
    return (f"Of {some(facts.links, 'link')} in the records none is slow.",)
