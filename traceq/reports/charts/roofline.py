"""What operators reach against what the GPU could: operations per byte against operations per second."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from traceq.common.units import duration, rate, share
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.palette import INK, PAGE, colour
from traceq.reports.charts.sheet import caption, named, note, sheet, styled
from traceq.reports.model import TraceReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Square points.
_LARGEST, _SMALLEST = 500.0, 30.0
_SPAN = 4.0
# Peaks of two kinds that differ by less are one roof.
_SAME = 0.01
_WIDE = 1_000


class _Point(NamedTuple):
    """A kind of operators; operations per byte, TFLOP/s, and what the GPU and its memory could reach (None: not known)."""

    kind: str
    intensity: float
    reached: float
    peak: float | None
    memory_gb_per_s: float | None
    gpu_ns: int


def applies(report: TraceReport) -> bool:
    """Whether operations and bytes of any kind of operators are known."""
    return bool(_points(report))


@styled
def roofline(report: TraceReport) -> Figure:
    """A point per kind of operators, sized by GPU time, below the peak of the arithmetic it is done in."""
    points = _points(report)
    figure, axes = sheet(height=3.0, bottom=0.6, right=0.3)
    _scales(axes, points)
    most = max(point.gpu_ns for point in points) or 1
    for point in points:
        area = max(_LARGEST * point.gpu_ns / most, _SMALLEST)
        axes.scatter(
            [point.intensity],
            [point.reached],
            area,
            color=colour("compute"),
            edgecolor=PAGE[0],
            zorder=3,
            label=point.kind,
        )
        _label(axes, point, area)
    for roof in _roofs(points):
        axes.axhline(roof, color=INK, linewidth=1.2, linestyle="--")
        note(axes, f"peak {rate(roof)} TFLOP/s", (0, roof), (4, 4), xycoords=axes.get_yaxis_transform())
    _memory_roof(axes, points)
    axes.set_xlabel("operations per byte", fontsize="medium")
    axes.grid()
    caption(figure, "TFLOP/s, by operations per byte; the larger, the more GPU time")
    return figure


def _scales(axes: Axes, points: list[_Point]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    lowest, highest = min(point.intensity for point in points), max(point.intensity for point in points)
    axes.set_xlim(lowest / _SPAN, highest * _SPAN)
    reached = [point.reached for point in points] + _roofs(points)
    axes.set_ylim(min(reached) / _SPAN, max(reached) * _SPAN)
    for axis in (axes.xaxis, axes.yaxis):
        _powers(axis)


def _memory_roof(axes: Axes, points: list[_Point]) -> None:
    """What the memory can feed: bandwidth times operations per byte, up to the highest peak."""
    bandwidth = max((point.memory_gb_per_s for point in points if point.memory_gb_per_s), default=None)
    if bandwidth is None:
        return
    low, high = axes.get_xlim()
    roofs = _roofs(points)
    end = min(high, 1000 * roofs[-1] / bandwidth) if roofs else high
    if end > low:
        axes.plot([low, end], [low * bandwidth / 1000, end * bandwidth / 1000], color=INK, linewidth=1.2, linestyle=":")


def _powers(axis: Axis) -> None:
    """A few plain numbers, at 1, 2 and 5 times powers of ten where the axis is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(10, subs=(1.0,) if high / low > _WIDE else (1.0, 3.0), numticks=5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())


def _label(axes: Axes, point: _Point, area: float) -> None:
    text = f"{named(point.kind)} {rate(point.reached)}"
    if point.peak:
        text += f" ({share(point.reached / point.peak)} of peak)"
    low, high = axes.get_xlim()
    is_left = point.intensity**2 < low * high
    away = area**0.5 / 2 + 5
    at = (point.intensity, point.reached)
    side = "left" if is_left else "right"
    note(axes, text, at, (away if is_left else -away, 0), ha=side, va="center_baseline")


def alt(report: TraceReport) -> str:
    """Each point in words."""
    points = _points(report)
    each = "; ".join(
        f"{named(point.kind)} ({duration(point.gpu_ns)} on the GPU) {rate(point.reached)} TFLOP/s at"
        f" {rate(point.intensity)} operations per byte"
        + (f", {share(point.reached / point.peak)} of the peak" if point.peak else "")
        for point in points
    )
    bandwidth = max((point.memory_gb_per_s or 0 for point in points), default=0)
    memory = f" The memory gives {rate(bandwidth)} GB/s at most." if bandwidth else ""
    return f"Roofline of operators: {each}.{memory}"


def _points(report: TraceReport) -> list[_Point]:
    return [
        _Point(
            each.kind,
            1000 * each.tflop_per_s / each.gb_per_s,
            each.tflop_per_s,
            each.tflop_per_s / each.peak_share if each.peak_share else None,
            each.memory_gb_per_s,
            each.gpu_ns,
        )
        for each in report.topics.kernels.operators
        if each.tflop_per_s and each.gb_per_s
    ]


def _roofs(points: list[_Point]) -> list[float]:
    roofs: list[float] = []
    for peak in sorted(point.peak for point in points if point.peak):
        if not roofs or peak > roofs[-1] * (1 + _SAME):
            roofs.append(peak)
    return roofs


CHART = Chart("roofline", "operators", roofline, applies, alt, "no operators of known cost, or a GPU of unknown peak")
