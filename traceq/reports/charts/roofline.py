"""The speed that kernels reach against that of the GPU: operations per byte against operations per second."""

from __future__ import annotations

from traceq.common.units import count, duration, format_bandwidth, rate, share, some
from traceq.reports.charts.chart import Chart
from traceq.reports.document import ChartPoints, Name, make_table
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
from traceq.reports.topics.kernels import KernelSpeed

# Radii in points.
_LARGEST, _SMALLEST = 11.0, 2.7
_SPAN = 4.0
# Peaks of two kinds that differ by less are one roof.
_SAME = 0.01
_MOST_DOTS = 24
_NUMBERED = 9
_DESCRIBED = 4
_KINDS = ("matmul", "convolution", "attention")


def has_data(report: TraceReport) -> bool:
    """Return whether operations and bytes are known of any kernel."""
    return bool(_list_dots(report))


def draw(report: TraceReport) -> Drawing:
    """Draw a roofline chart: a dot for each kernel of known operations and bytes, the larger the more GPU time, and the peaks.

    Both axes are logarithmic: operations per byte, and TFLOP/s. The 24 kernels with most time are drawn, 9 with their number.
    """
    dots = _list_dots(report)
    roofs = _list_roofs(dots)
    intensities = [_find_intensity(dot) for dot in dots]
    speeds = [dot.tflop_per_s or 0.0 for dot in dots]
    x = make_log_axis(min(intensities) / _SPAN, max(intensities) * _SPAN, "operations per byte")
    y = make_log_axis(min(speeds) / _SPAN, max(speeds + roofs) * _SPAN, "TFLOP/s")
    marks: list[Shape] = []
    for roof in roofs:
        marks.append(Stroke([[(x.low, roof), (x.high, roof)]], dashes="5 3"))
        marks.append(Text(f"peak {rate(roof)} TFLOP/s", x.low, roof, 4, 4, is_above=True))
    marks += _draw_memory_roof(x, dots, roofs)
    most = dots[0].dur_ns or 1
    for number, (dot, intensity, speed) in enumerate(zip(dots, intensities, speeds, strict=True), 1):
        radius = max(_LARGEST * (dot.dur_ns / most) ** 0.5, _SMALLEST)
        marks.append(Dot(dot.kind or "", intensity, speed, radius))
        if number <= _NUMBERED:
            marks.append(Text(str(number), intensity, speed, radius + 2))
    kinds = {dot.kind for dot in dots}
    legend = [(kind, kind) for kind in _KINDS if kind in kinds]
    title = "speed of kernels by operations per byte; the larger, the more GPU time"
    return Drawing(title, [Panel(marks, x, y, height=180.0, right=22.0, top=LABELLED_TOP)], legend)


def _draw_memory_roof(x: Axis, dots: list[KernelSpeed], roofs: list[float]) -> list[Shape]:
    """Return a dotted line of the speed that memory bandwidth allows at each intensity, up to the highest peak.

    Empty if the bandwidth is unknown, or if the peak is lower within the whole chart.
    """
    memory = _find_bandwidth(dots)
    if memory is None:
        return []
    end = min(x.high, 1000 * roofs[-1] / memory) if roofs else x.high
    path = [(place, place * memory / 1000) for place in (x.low, end)]
    return [Stroke([path], dashes="1.5 3")] if end > x.low else []


def describe(report: TraceReport) -> str:
    """Return sentences with time, TFLOP/s, operations per byte and share of the peak of the 4 kernels with most time."""
    dots = _list_dots(report)
    words = "; ".join(
        f"{shorten_label(dot.name or '')} ({dot.kind}, {duration(dot.dur_ns)} on the GPU) {rate(dot.tflop_per_s or 0)} TFLOP/s at"
        f" {rate(_find_intensity(dot))} operations per byte"
        + (f", {share((dot.tflop_per_s or 0) / dot.peak_tflop_per_s)} of the peak" if dot.peak_tflop_per_s else "")
        for dot in dots[:_DESCRIBED]
    )
    memory = _find_bandwidth(dots)
    limit = f" The memory gives {format_bandwidth(memory)} at most." if memory else ""
    return f"Roofline of {some(len(dots), 'kernel')}, those with most time first: {words}.{limit}"


def list_points(report: TraceReport) -> ChartPoints:
    """Return a table of the dots, and sentences on the kernels that are not drawn: how many there are, and their time."""
    dots = _list_dots(report)
    numbers = {id(dot): str(number) for number, dot in enumerate(dots, 1)}
    table = make_table(
        dots,
        {
            "#": lambda dot: numbers[id(dot)],
            "kernel": lambda dot: Name(dot.name or ""),
            "of": lambda dot: dot.kind or "",
            "count": lambda dot: count(dot.kernels),
            "time": lambda dot: duration(dot.dur_ns),
            "share": lambda dot: share(dot.kernel_share or 0),
            "TFLOP/s": lambda dot: rate(dot.tflop_per_s or 0),
            "of peak": lambda dot: (
                share((dot.tflop_per_s or 0) / dot.peak_tflop_per_s) if dot.peak_tflop_per_s else "cannot tell"
            ),
            "memory": lambda dot: format_bandwidth(dot.gb_per_s or 0),
        },
        text=(1, 2),
    )
    return ChartPoints(table, " ".join(_explain_rest(report, dots)))


def _explain_rest(report: TraceReport, dots: list[KernelSpeed]) -> list[str]:
    """Return a sentence on each group of kernels without a dot."""
    rows = report.topics.kernels.roofline
    said = []
    known = [row for row in rows if _is_known(row)]
    if len(known) > len(dots):
        left = share(sum(row.kernel_share or 0 for row in known[len(dots) :]))
        said.append(f"{count(len(known) - len(dots))} more kernel names, {left} of the kernels' time, are not drawn.")
    for row in rows:
        if _is_known(row):
            continue
        kernels = f"{some(row.kernels, 'kernel')} ({share(row.kernel_share or 0)} of the kernels' time)"
        if row.has_bytes and row.gb_per_s is not None:
            said.append(
                f"Cannot tell the FLOP/s of {kernels}; by their shapes they move {format_bandwidth(row.gb_per_s)}."
            )
        else:
            said.append(f"Cannot tell FLOP/s or bytes/s of {kernels}: the trace has no usable shapes of them.")
    return said


def _is_known(row: KernelSpeed) -> bool:
    return row.name is not None and bool(row.tflop_per_s and row.gb_per_s)


def _find_intensity(dot: KernelSpeed) -> float:
    """Return the operations per byte of a kernel of which both are known."""
    return 1000 * (dot.tflop_per_s or 0) / (dot.gb_per_s or 1)


def _list_dots(report: TraceReport) -> list[KernelSpeed]:
    """Return the 24 kernels with most time of those whose operations and bytes are known."""
    return [row for row in report.topics.kernels.roofline if _is_known(row)][:_MOST_DOTS]


def _find_bandwidth(dots: list[KernelSpeed]) -> float | None:
    """Return the highest peak bandwidth of the memory, GB/s; None if it is not known."""
    return max((dot.memory_gb_per_s for dot in dots if dot.memory_gb_per_s), default=None)


def _list_roofs(dots: list[KernelSpeed]) -> list[float]:
    """Return the distinct peaks of the GPU, TFLOP/s, ascending; peaks within 1 % of one another are one."""
    roofs: list[float] = []
    for peak in sorted(dot.peak_tflop_per_s for dot in dots if dot.peak_tflop_per_s):
        if not roofs or peak > roofs[-1] * (1 + _SAME):
            roofs.append(peak)
    return roofs


CHART = Chart(
    "roofline",
    "operators",
    draw,
    has_data,
    describe,
    "no kernels of known operations and bytes",
    list_points=list_points,
)
