"""Gaps of the GPUs by size: many small ones or few large ones."""

from __future__ import annotations

from traceq.common.units import count, duration
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.stack import make_bars_panel
from traceq.reports.document import BarRow
from traceq.reports.drawing import WIDTH, Drawing, estimate_room
from traceq.reports.model import TraceReport


def has_data(report: TraceReport) -> bool:
    """Return whether any GPU was ever idle."""
    return any(size.dur_ns for size in report.gap_sizes)


def draw(report: TraceReport) -> Drawing:
    """Return a drawing of two bar charts by size of gap: the number of gaps on the left, their time on the right."""
    sizes = report.gap_sizes
    left = estimate_room([size.bucket for size in sizes])
    half = (WIDTH - left) / 2
    numbers = [BarRow(size.bucket, (("idle", size.gaps),), count(size.gaps)) for size in sizes]
    times = [BarRow("", (("idle", size.dur_ns),), duration(size.dur_ns)) for size in sizes]
    panels = [
        make_bars_panel(numbers, left, half, "number of gaps"),
        make_bars_panel(times, left + half, title="time in them"),
    ]
    return Drawing("", panels)


def describe(report: TraceReport) -> str:
    """Return sentences on the number and total time of all gaps, and on the size class that holds most of the time."""
    sizes = report.gap_sizes
    most = max(sizes, key=lambda size: size.dur_ns)
    return (
        f"Gaps by size: {count(sum(size.gaps for size in sizes))} in all, {duration(sum(size.dur_ns for size in sizes))}. "
        f"Most of that time, {duration(most.dur_ns)}, is in {count(most.gaps)} of {most.bucket}."
    )


CHART = Chart("gaps", "gaps", draw, has_data, describe, "no gaps, or no GPU activity")
