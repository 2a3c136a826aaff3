"""The words about what the program itself marked: how much work its steps did, and their phases."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import count, duration, share, short
from traceq.reports.document import Block, Heading, Literal, Name, Paragraph, Query, make_table
from traceq.reports.model import Throughput, TraceReport

_TEN = 10


def describe_marks(report: TraceReport) -> Iterator[Block]:
    """Throughput in a line and a table of phases, each only when the trace has marks that tell."""
    if report.throughput:
        spans: list[str] = ["Throughput: "]
        for number, each in enumerate(report.throughput):
            spans += [", " if number else "", Name(each.key), f" {_format_rate(each)}"]
        yield Paragraph((*spans, "."))
        yield Query(report.queries["throughput"])
    if report.phases:
        yield from _describe_phases(report)


def _format_rate(throughput: Throughput) -> str:
    rate = throughput.per_second
    return f"{rate:,.0f}/s" if abs(rate) >= _TEN else f"{short(rate)}/s"


def _describe_phases(report: TraceReport) -> Iterator[Block]:
    yield Heading(3, ("Phases",))
    yield Paragraph(
        (
            "Time between the marks on the host, not on the GPU. Phases may nest and threads add up: ",
            f"they are not parts of a {report.unit}. ",
            Literal("data"),
            " is fetching from data loaders.",
        )
    )
    yield make_table(
        report.phases,
        {
            "phase": lambda each: Name(each.phase),
            "count": lambda each: count(each.count),
            f"per {report.unit}, median": lambda each: duration(each.median_ns),
            f"share of {report.unit}s": lambda each: share(each.step_share),
        },
    )
    yield Query(report.queries["phases"])
