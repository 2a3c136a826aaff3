"""Gaps of the GPUs by size: many small ones or few large ones."""

from __future__ import annotations

from traceq.common.units import count, duration
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.stack import make_bars_panel
from traceq.reports.document import BarRow
from traceq.reports.drawing import Drawing, choose_time_unit
from traceq.reports.model import TraceReport


def has_data(report: TraceReport) -> bool:
    """Return whether any GPU was ever idle."""
    return any(size.dur_ns for size in report.gap_sizes)


def draw(report: TraceReport) -> Drawing:
    """Return a drawing of two bar charts by size of gap: the time in gaps above, their number below."""
    sizes = report.gap_sizes
    unit = choose_time_unit(max(size.dur_ns for size in sizes))
    numbers = [BarRow(size.bucket, (("idle", size.gaps),), count(size.gaps)) for size in sizes]
    times = [BarRow(size.bucket, (("idle", size.dur_ns / unit.size),), duration(size.dur_ns)) for size in sizes]
    above = make_bars_panel(times, f"time in gaps ({unit.name})")
    below = make_bars_panel(numbers, "number of gaps", above.bottom + 6, whole=True)
    return Drawing("gaps by size", [above, below])


def describe(report: TraceReport) -> str:
    """Return sentences on the number and total time of all gaps, and on the size class that holds most of the time."""
    sizes = report.gap_sizes
    most = max(sizes, key=lambda size: size.dur_ns)
    return (
        f"Gaps by size: {count(sum(size.gaps for size in sizes))} in all, {duration(sum(size.dur_ns for size in sizes))}. "
        f"Most of that time, {duration(most.dur_ns)}, is in {count(most.gaps)} of {most.bucket}."
    )


CHART = Chart("gaps", "gaps", draw, has_data, describe, "no gaps, or no GPU activity")
