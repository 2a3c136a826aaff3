"""How the durations of the counted steps are distributed."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from traceq.common.units import count, duration
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.palette import INK, PAGE, colour
from traceq.reports.charts.sheet import caption, few_ticks, note, sheet, styled, unit_of_time
from traceq.reports.model import TraceReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEWEST_STEPS = 5
_FEWEST_BINS, _MOST_BINS = 12, 40
# With more, the single steps cannot be told apart.
_MOST_TICKS = 200
_RUG = 0.06
# Inches.
_LINE = 0.2
_QUANTILES = ("p50", "p95")


def applies(report: TraceReport) -> bool:
    """Whether there are enough steps to speak of a distribution."""
    return len(report.step_ledgers) >= _FEWEST_STEPS


@styled
def step_times(report: TraceReport) -> Figure:
    """Steps per duration, each step as a tick below, median and 95th percentile."""
    times = [step.dur for step in report.step_ledgers]
    unit = unit_of_time(max(times))
    scaled = [time / unit.size for time in times]
    low, high = min(scaled), max(scaled)
    around = (high - low) * 0.02 or high * 0.02 or 1.0
    figure, axes = sheet(height=2.6, top=0.32 + len(_QUANTILES) * _LINE, right=0.2)
    bins = min(max(2 * isqrt(len(times)), _FEWEST_BINS), _MOST_BINS)
    axes.hist(
        scaled, bins, range=(low - around, high + around), color=colour("compute"), edgecolor=PAGE[0], linewidth=1
    )
    if len(times) <= _MOST_TICKS:
        _rug(axes, scaled)
    axes.set_xlim(low - around, high + around)
    for line, name in enumerate(reversed(_QUANTILES)):
        _quantile(axes, name, getattr(report.steps, f"{name}_ns"), line, unit.size)
    few_ticks(axes.xaxis)
    few_ticks(axes.yaxis, whole=True)
    axes.grid(axis="y")
    caption(figure, f"number of steps by duration ({unit.name})")
    return figure


def _rug(axes: Axes, values: list[float]) -> None:
    """A tick for each value on the lower edge, in one path."""
    gap = float("nan")
    highest = axes.get_ylim()[1]
    axes.plot(
        [x for value in values for x in (value, value, gap)],
        [y for _ in values for y in (-_RUG * highest, 0, gap)],
        color=INK,
        linewidth=0.8,
    )
    axes.set_ylim(-_RUG * highest, highest)


def _quantile(axes: Axes, name: str, value: float | None, line: int, size: int) -> None:
    """A line at the value, its name above, each in a line of its own: they can be close to one another."""
    if value is None:
        return
    x = value / size
    low, high = axes.get_xlim()
    axes.axvline(x, color=INK, linewidth=1.2, linestyle="--")
    side = "right" if x > (low + high) / 2 else "left"
    above = (line * _LINE + 0.05) * 72
    note(axes, f"{name} {duration(value)}", (x, 1), (0, above), xycoords=axes.get_xaxis_transform(), ha=side)


def alt(report: TraceReport) -> str:
    """Number of steps, shortest, median, 95th percentile, longest."""
    steps = report.steps
    return (
        f"Distribution of the durations of {count(len(report.step_ledgers))} steps: from {duration(steps.min_ns)} to"
        f" {duration(steps.max_ns)}, the median {duration(steps.p50_ns)}, the 95th percentile {duration(steps.p95_ns)}."
    )


CHART = Chart("step-times", "steps", step_times, applies, alt, "too few steps to compare")
