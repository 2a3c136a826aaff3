"""Memory over the counted steps, of the device that has most allocated."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.common.units import share, size
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.layers import (
    PARTS,
    Layer,
    Moment,
    draw_areas,
    draw_moments,
    list_layers,
    name_layer,
    room_above,
    sum_layers,
)
from traceq.reports.drawing import Axis, Drawing, Panel, Place, Shape, Stroke, Text, Tick, choose_size_unit, make_axis
from traceq.reports.model import TraceReport
from traceq.reports.topics.memory import MemoryPart, MemoryPeak, StepStart

_PARTS = 60
# More numbers of steps would touch each other.
_MOST_TICKS = 10
# Of the capacity: from here on it is drawn as a line, below it would leave nothing to be seen of the rest.
_NEAR = 0.4


def has_data(report: TraceReport) -> bool:
    """Return whether the report has a peak and a timeline of the memory allocated on a GPU."""
    return _find_peak(report) is not None


def draw(report: TraceReport) -> Drawing:
    """Draw what is allocated in each 120th of the counted steps, and what is cached beyond, for the GPU with the highest peak.

    Dotted lines are at the starts of steps, dashed ones at the peak and at the capacity, if the peak is 40 % of it or more.
    Raises ValueError without a peak.
    """
    peak = _find_peak(report)
    if peak is None:
        raise ValueError("the report says nothing of a device's memory; ask memory.has_data() first")
    memory = report.topics.memory
    layers = list_layers(memory.layers, peak.device or 0)
    unit = choose_size_unit(peak.peak_bytes)
    capacity = peak.capacity_bytes or 0
    is_near = peak.peak_bytes >= _NEAR * capacity > 0
    top = max(*sum_layers(layers), capacity * 1.15 if is_near else 0) / unit.size
    time = _make_time_axis(memory.marks, report.unit)
    y = make_axis(0, (top or 1) * 1.05, has_grid=True)
    shapes = draw_areas(layers, time.high, unit)
    starts: list[list[Place]] = [[(tick.value, y.low), (tick.value, y.high)] for tick in time.ticks if tick.value]
    if starts:
        shapes.append(Stroke(starts, width=0.6, dashes="1 3"))
    if is_near:
        shapes += _draw_level(time, capacity / unit.size, f"capacity {size(capacity)}")
    moments = [_find_moment(layers, peak, time)]
    shapes += draw_moments(moments, time, y)
    above = f"; it has {size(capacity)}" if capacity and not is_near else ""
    title = f"memory on GPU {peak.device} ({unit.name}){above}"
    return Drawing(
        title,
        [Panel(shapes, time, y, top=room_above(moments))],
        [(layer.kind, name_layer(layer.kind)) for layer in reversed(layers)],
    )


def _find_moment(layers: Sequence[Layer], peak: MemoryPeak, time: Axis) -> Moment:
    """Return the middle of the part in which most is allocated, as the moment of the peak."""
    allocated = sum_layers([layer for layer in layers if layer.kind != "cached"])
    part = layers[0].first_part + allocated.index(max(allocated))
    return Moment((part + 0.5) * time.high / PARTS, f"peak {size(peak.peak_bytes)}, step {peak.peak_step}")


def _make_time_axis(marks: Sequence[StepStart], unit: str) -> Axis:
    """Return the time axis of the counted steps, ns, with ticks at the starts of at most 10 of the marked steps."""
    span = max((mark.span_ns for mark in marks), default=PARTS) or 1
    every = -(-len(marks) // _MOST_TICKS) or 1
    ticks = [Tick(mark.after_ns, str(mark.step)) for mark in marks][::every]
    return Axis(0, span, ticks, label=f"{unit} that begins there")


def _draw_level(time: Axis, y: float, text: str) -> list[Shape]:
    """Return a dashed horizontal line at `y` over the whole chart, and its text at the right end."""
    return [Stroke([[(0, y), (time.high, y)]], dashes="5 3"), Text(text, time.high, y, -4, 4, "end", is_above=True)]


def describe(report: TraceReport) -> str:
    """Return a sentence on the peak of the GPU with the highest, its share of the capacity, and the bytes at the end.

    Empty without a peak.
    """
    peak = _find_peak(report)
    if peak is None:
        return ""
    _, last = fill_parts(peak.device, report.topics.memory.timeline)
    least = "" if peak.is_total else "at least "
    text = f"Memory allocated on GPU {peak.device} over the counted steps: {least}{size(peak.peak_bytes)} at most"
    if peak.capacity_bytes:
        text += f", {share(peak.peak_bytes / peak.capacity_bytes)} of {size(peak.capacity_bytes)}"
    return f"{text}, in step {peak.peak_step}; {size(last[-1])} at the end."


def _find_peak(report: TraceReport) -> MemoryPeak | None:
    """Return the highest peak of the GPUs that have a timeline of memory; None without any."""
    facts = report.topics.memory
    known = {layer.device for layer in facts.layers}
    peaks = [peak for peak in facts.peaks if peak.memory == "device" and peak.peak_bytes and peak.device in known]
    return max(peaks, key=lambda peak: peak.peak_bytes, default=None)


def fill_parts(device: int | None, timeline: Sequence[MemoryPart]) -> tuple[Sequence[int], Sequence[int]]:
    """Return two lists with a value for each 60th of the counted steps: the highest and the last bytes allocated on the device.

    A 60th without samples keeps the last bytes of the one before.
    """
    by_part: dict[int, MemoryPart] = {part.part: part for part in timeline if part.device == device}
    left = by_part[-1].last_bytes if -1 in by_part else 0
    highest, last = [], []
    for number in range(_PARTS):
        part = by_part.get(number)
        highest.append(max(left, part.highest_bytes) if part else left)
        left = part.last_bytes if part else left
        last.append(left)
    return highest, last


CHART = Chart(
    "memory", "memory", draw, has_data, describe, "no memory was recorded", queries=("memory_layers", "memory_marks")
)
