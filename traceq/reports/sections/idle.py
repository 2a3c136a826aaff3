"""The words about gaps on the GPU, unusually long steps, and the training thread."""

from __future__ import annotations

from collections.abc import Iterator

from traceq.analysis.categories import HOST_LABELS, label
from traceq.common.units import count, duration, share
from traceq.reports.document import Block, Heading, Name, Paragraph, Query, Table, make_table
from traceq.reports.model import Gap, TraceReport
from traceq.reports.sections.pictures import draw_pictures

_HOST_PARTS = 12


def describe_gaps(report: TraceReport) -> Iterator[Block]:
    """Yield the section on idle gaps of the GPUs: by size, and the longest with what the host did; nothing without gaps."""
    if not report.gaps or not report.ledger:
        return
    yield Heading(3, ("When the GPU had nothing to do",))
    yield Paragraph(("Gaps of all GPUs, by size:",))
    yield make_table(
        report.gap_sizes,
        {
            "gap": lambda each: each.bucket,
            "count": lambda each: count(each.gaps),
            "time": lambda each: duration(each.dur_ns),
        },
    )
    yield from draw_pictures(report, "gaps")
    yield Query(report.queries["gap_sizes"])
    yield Paragraph(("The longest, with what the launching thread did for most of the time:",))
    yield make_table(
        report.gaps,
        {
            "gap": lambda each: duration(each.dur_ns),
            "GPU": lambda each: str(each.device),
            "step": lambda each: str(each.step),
            "main cause": lambda each: label(each.cause),
            "host": lambda each: _as_name(each.host),
            "within": lambda each: _as_name(_enclosing_name(each)),
            "waited in": lambda each: _as_name(each.drained_by),
        },
        text=(3, 4, 5, 6),
    )
    yield Query(report.queries["gaps"])


def _as_name(name: str | None) -> str:
    return Name(name) if name else "-"


def _enclosing_name(gap: Gap) -> str | None:
    """Return the gap's operator, else its annotation, that is not the host's own slice; None without one."""
    return next((name for name in (gap.operator, gap.annotation) if name and name != gap.host), None)


def describe_outliers(report: TraceReport) -> Iterator[Block]:
    """Yield the section on unusually long steps and the categories they have more of; nothing without such steps."""
    if not report.outliers:
        return
    yield Heading(3, ("Unusually long steps",))
    yield Paragraph(
        (
            (
                "Longer than the median by more than 5 MAD and a tenth, and what they spend more time on than a "
                "typical step:"
            ),
        )
    )
    yield make_table(
        report.outliers,
        {
            "step": lambda each: str(each.step),
            "duration": lambda each: duration(each.dur_ns),
            "GPU": lambda each: "-" if each.device is None else str(each.device),
            "category": lambda each: label(each.category) if each.category else "-",
            "difference": lambda each: "-" if each.change_ns is None else duration(each.change_ns),
        },
        text=(3,),
    )
    yield Query(report.queries["outliers"])


def describe_training_thread(report: TraceReport) -> Iterator[Block]:
    """Yield the section on the training thread's own time by category; nothing without host data."""
    total = sum(each.dur_ns for each in report.host_ledger)
    if not total:
        return
    yield Heading(3, ("What the training thread did",))
    yield Paragraph(("Every nanosecond of the counted steps counts once, by the innermost slice it was in:",))
    parts = report.host_ledger[:_HOST_PARTS]
    rows = [
        (HOST_LABELS.get(each.category, each.category), each.phase, duration(each.dur_ns), share(each.dur_ns / total))
        for each in parts
    ]
    rest = total - sum(each.dur_ns for each in parts)
    if rest:
        rows.append(("others", "-", duration(rest), share(rest / total)))
    rows.append(("sum", "", duration(total), share(1.0)))
    yield Table(("category", "phase", "time", "share"), tuple(rows), text_columns=(0, 1))
    yield Query(report.queries["host_ledger"])
