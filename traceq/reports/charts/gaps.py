"""Gaps of the GPUs by size: many small ones or few large ones."""

from __future__ import annotations

from traceq.common.units import count, duration
from traceq.reports.charts.chart import Chart
from traceq.reports.drawing import (
    APART,
    ROW,
    WIDTH,
    Axis,
    Drawing,
    Panel,
    Shape,
    Text,
    estimate_room,
    make_row_bars,
    make_rows_axis,
)
from traceq.reports.model import TraceReport


def has_data(report: TraceReport) -> bool:
    """Return whether any GPU was ever idle."""
    return any(size.dur_ns for size in report.gap_sizes)


def draw(report: TraceReport) -> Drawing:
    """Draw the number of gaps per size on the left, their time on the right."""
    sizes = report.gap_sizes
    names = [size.bucket for size in sizes]
    left = estimate_room(names)
    half = (WIDTH - left) / 2
    numbers = _draw_panel("number of gaps", names, [(size.gaps, count(size.gaps)) for size in sizes], left, half)
    times = _draw_panel(
        "time in them", [""] * len(sizes), [(size.dur_ns, duration(size.dur_ns)) for size in sizes], left + half, half
    )
    return Drawing("", [numbers, times])


def _draw_panel(title: str, names: list[str], amounts: list[tuple[int, str]], left: float, wide: float) -> Panel:
    room = estimate_room([text for _, text in amounts])
    longest = max(amount for amount, _ in amounts) or 1
    marks: list[Shape] = [Text(title, 0, -0.5, 0, 6, is_above=True)]
    for row, (amount, text) in enumerate(amounts):
        marks += [*make_row_bars(row, 0, [("idle", amount)]), Text(text, amount, row, APART)]
    right = WIDTH - left - wide + room
    return Panel(marks, Axis(0, longest), make_rows_axis(names), height=len(names) * ROW, left=left, right=right)


def describe(report: TraceReport) -> str:
    """Describe all gaps, and the size in which most time is."""
    sizes = report.gap_sizes
    most = max(sizes, key=lambda size: size.dur_ns)
    return (
        f"Gaps by size: {count(sum(size.gaps for size in sizes))} in all, {duration(sum(size.dur_ns for size in sizes))}. "
        f"Most of that time, {duration(most.dur_ns)}, is in {count(most.gaps)} of {most.bucket}."
    )


CHART = Chart("gaps", "gaps", draw, has_data, describe, "no gaps, or no GPU activity")
