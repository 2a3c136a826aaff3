"""Memory over the counted steps, of the device that has most allocated."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.common.units import share, size
from traceq.reports.charts.chart import Chart
from traceq.reports.drawing import Area, Axis, Drawing, Panel, Shape, Stroke, Text, Tick, choose_size_unit, make_axis
from traceq.reports.model import TraceReport
from traceq.reports.topics import MemoryPart, MemoryPeak

_PARTS = 60
# Of the capacity: from here on it is drawn as a line, below it would leave nothing to be seen of the rest.
_NEAR = 0.4


def has_data(report: TraceReport) -> bool:
    """Return whether the report has a peak and a timeline of the memory allocated on a GPU."""
    return _find_peak(report) is not None


def draw(report: TraceReport) -> Drawing:
    """Draw the most bytes allocated in each 60th of the counted steps, with a line at the peak, for the GPU with the highest.

    A line at the capacity is added if the peak is 40 % of it or more. Raises ValueError without a peak.
    """
    peak = _find_peak(report)
    if peak is None:
        raise ValueError("the report says nothing of a device's memory; ask memory.has_data() first")
    highest, _ = fill_parts(peak.device, report.topics.memory.timeline)
    unit = choose_size_unit(peak.peak_bytes)
    capacity = peak.capacity_bytes or 0
    is_near = peak.peak_bytes >= _NEAR * capacity > 0
    marks: list[Shape] = [Area("allocated", range(_PARTS + 1), [part / unit.size for part in highest])]
    if is_near:
        marks += _draw_level(capacity / unit.size, f"capacity {size(capacity)}")
    marks += _draw_level(peak.peak_bytes / unit.size, f"peak {size(peak.peak_bytes)}, step {peak.peak_step}")
    top = max(*highest, peak.peak_bytes, capacity if is_near else 0) * 1.15 / unit.size
    time = Axis(0, _PARTS, [Tick(0, "first counted step"), Tick(_PARTS, "last")])
    above = f"; it has {size(capacity)}" if capacity and not is_near else ""
    title = f"memory allocated on GPU {peak.device} ({unit.name}){above}"
    return Drawing(title, [Panel(marks, time, make_axis(0, top or 1, has_grid=True))])


def _draw_level(y: float, text: str) -> list[Shape]:
    """Return a dashed horizontal line at `y` over the whole chart, and its text at the right end."""
    return [Stroke([[(0, y), (_PARTS, y)]], dashes="5 3"), Text(text, _PARTS, y, -4, 4, "end", is_above=True)]


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
    known = {part.device for part in facts.timeline}
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


CHART = Chart("memory", "memory", draw, has_data, describe, "no memory was recorded")
