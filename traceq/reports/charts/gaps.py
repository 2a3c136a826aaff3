"""Gaps of the GPUs by size: many small ones or few large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.common.units import count, duration
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.palette import colour
from traceq.reports.charts.sheet import WIDTH, inches, sheet, styled
from traceq.reports.model import TraceReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches.
_ROW = 0.36
_APART = 0.1
_TOP = 0.32

_THICKNESS = 0.72


def applies(report: TraceReport) -> bool:
    """Whether any GPU was ever idle."""
    return any(each.dur_ns for each in report.gap_sizes)


@styled
def gaps(report: TraceReport) -> Figure:
    """Number of gaps per size on the left, their time on the right."""
    sizes = report.gap_sizes
    left = max(inches(each.bucket) for each in sizes) + 2 * _APART
    figure, numbers = sheet(height=len(sizes) * _ROW + _TOP + _APART, left=left, right=_APART, top=_TOP, bottom=_APART)
    place = numbers.get_position()
    numbers.set_position((place.x0, place.y0, place.width / 2, place.height))
    times = figure.add_axes((place.x0 + place.width / 2, place.y0, place.width / 2, place.height))
    _bars(numbers, "number of gaps", [(each.gaps, count(each.gaps)) for each in sizes])
    _bars(times, "time in them", [(each.dur_ns, duration(each.dur_ns)) for each in sizes])
    numbers.set_yticks(range(len(sizes)), [each.bucket for each in sizes])
    times.yaxis.set_visible(False)
    return figure


def _bars(axes: Axes, title: str, amounts: list[tuple[int, str]]) -> None:
    wide = axes.get_position().width * WIDTH
    room = max(inches(text) for _, text in amounts) + 2 * _APART
    longest = max(amount for amount, _ in amounts) or 1
    axes.barh(range(len(amounts)), [amount for amount, _ in amounts], _THICKNESS, color=colour("idle"))
    axes.set_xlim(0, longest * wide / (wide - room))
    axes.set_ylim(len(amounts) - 0.5, -0.5)
    for number, (amount, text) in enumerate(amounts):
        axes.text(amount + axes.get_xlim()[1] * _APART / wide, number, text, va="center_baseline")
    axes.set_title(title, loc="left", fontsize="medium", pad=6)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)


def alt(report: TraceReport) -> str:
    """All gaps, and the size in which most time is."""
    sizes = report.gap_sizes
    most = max(sizes, key=lambda each: each.dur_ns)
    return (
        f"Gaps by size: {count(sum(each.gaps for each in sizes))} in all, {duration(sum(each.dur_ns for each in sizes))}. "
        f"Most of that time, {duration(most.dur_ns)}, is in {count(most.gaps)} of {most.bucket}."
    )


CHART = Chart("gaps", "gaps", gaps, applies, alt, "no gaps, or no GPU activity")
