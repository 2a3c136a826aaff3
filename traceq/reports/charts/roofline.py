"""The speed that operators reach against that of the GPU: operations per byte against operations per second."""

from __future__ import annotations

from typing import NamedTuple

from traceq.common.units import duration, rate, share
from traceq.reports.charts.chart import Chart
from traceq.reports.drawing import (
    LABELLED_TOP,
    Axis,
    Dot,
    Drawing,
    Panel,
    Shape,
    Stroke,
    Text,
    make_log_axis,
    shorten_label,
)
from traceq.reports.model import TraceReport

# Radii in points.
_LARGEST, _SMALLEST = 11.0, 2.7
_SPAN = 4.0
# Peaks of two kinds that differ by less are one roof.
_SAME = 0.01


class _Speed(NamedTuple):
    """A kind of operators: operations per byte, TFLOP/s reached, the GPU's peak TFLOP/s and memory bandwidth (None: unknown).

    `gpu_ns` is the time of its kernels.
    """

    kind: str
    intensity: float
    reached: float
    peak: float | None
    memory_gb_per_s: float | None
    gpu_ns: int


def has_data(report: TraceReport) -> bool:
    """Return whether operations and bytes per second are known for any kind of operators."""
    return bool(_list_speeds(report))


def draw(report: TraceReport) -> Drawing:
    """Draw a roofline chart: a point for each kind of operators, the larger the more GPU time, and lines at the GPU's peaks.

    Both axes are logarithmic: operations per byte, and TFLOP/s.
    """
    points = _list_speeds(report)
    roofs = _list_roofs(points)
    intensities = [point.intensity for point in points]
    speeds = [point.reached for point in points] + roofs
    x = make_log_axis(min(intensities) / _SPAN, max(intensities) * _SPAN, "operations per byte")
    y = make_log_axis(min(speeds) / _SPAN, max(speeds) * _SPAN, "TFLOP/s")
    marks: list[Shape] = []
    for roof in roofs:
        marks.append(Stroke([[(x.low, roof), (x.high, roof)]], dashes="5 3"))
        marks.append(Text(f"peak {rate(roof)} TFLOP/s", x.low, roof, 4, 4, is_above=True))
    marks += _draw_memory_roof(x, points, roofs)
    most = max(point.gpu_ns for point in points) or 1
    for point in points:
        radius = max(_LARGEST * (point.gpu_ns / most) ** 0.5, _SMALLEST)
        marks += [Dot("compute", point.intensity, point.reached, radius), _name_speed(x, point, radius)]
    title = "speed of operators by operations per byte; the larger, the more GPU time"
    return Drawing(title, [Panel(marks, x, y, height=150.0, right=22.0, top=LABELLED_TOP)])


def _draw_memory_roof(x: Axis, points: list[_Speed], roofs: list[float]) -> list[Shape]:
    """Return a dotted line of the speed that memory bandwidth allows at each intensity, up to the highest peak.

    Empty if the bandwidth is unknown, or if the peak is lower within the whole chart.
    """
    bandwidth = max((point.memory_gb_per_s for point in points if point.memory_gb_per_s), default=None)
    if bandwidth is None:
        return []
    end = min(x.high, 1000 * roofs[-1] / bandwidth) if roofs else x.high
    path = [(place, place * bandwidth / 1000) for place in (x.low, end)]
    return [Stroke([path], dashes="1.5 3")] if end > x.low else []


def _name_speed(x: Axis, point: _Speed, radius: float) -> Text:
    """Return the text beside a point: kind, TFLOP/s and share of the peak, on the side where there is more room."""
    text = f"{shorten_label(point.kind)} {rate(point.reached)}"
    if point.peak:
        text += f" ({share(point.reached / point.peak)} of peak)"
    away = radius + 5
    if point.intensity < x.middle:
        return Text(text, point.intensity, point.reached, away)
    return Text(text, point.intensity, point.reached, -away, anchor="end")


def describe(report: TraceReport) -> str:
    """Return sentences with GPU time, TFLOP/s, operations per byte and share of the peak of each kind, and the bandwidth."""
    points = _list_speeds(report)
    words = "; ".join(
        f"{shorten_label(point.kind)} ({duration(point.gpu_ns)} on the GPU) {rate(point.reached)} TFLOP/s at"
        f" {rate(point.intensity)} operations per byte"
        + (f", {share(point.reached / point.peak)} of the peak" if point.peak else "")
        for point in points
    )
    bandwidth = max((point.memory_gb_per_s or 0 for point in points), default=0)
    memory = f" The memory gives {rate(bandwidth)} GB/s at most." if bandwidth else ""
    return f"Roofline of operators: {words}.{memory}"


def _list_speeds(report: TraceReport) -> list[_Speed]:
    """Return the kinds of operators whose operations and bytes per second are both known."""
    speeds = []
    for kind in report.topics.kernels.operators:
        if kind.tflop_per_s and kind.gb_per_s:
            intensity = 1000 * kind.tflop_per_s / kind.gb_per_s
            peak = kind.tflop_per_s / kind.peak_share if kind.peak_share else None
            speeds.append(_Speed(kind.kind, intensity, kind.tflop_per_s, peak, kind.memory_gb_per_s, kind.gpu_ns))
    return speeds


def _list_roofs(points: list[_Speed]) -> list[float]:
    """Return the distinct peaks of the GPU, TFLOP/s, ascending; peaks within 1 % of one another are one."""
    roofs: list[float] = []
    for peak in sorted(point.peak for point in points if point.peak):
        if not roofs or peak > roofs[-1] * (1 + _SAME):
            roofs.append(peak)
    return roofs


CHART = Chart("roofline", "operators", draw, has_data, describe, "no operators of known cost, or a GPU of unknown peak")
