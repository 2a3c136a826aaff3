"""Memory over the counted steps, of the device that has most allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.common.units import share, size
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.palette import INK, colour
from traceq.reports.charts.sheet import caption, few_ticks, note, sheet, styled, unit_of_size
from traceq.reports.model import TraceReport
from traceq.reports.topics import MemoryPart, MemoryPeak

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PARTS = 60
# Of the capacity: from here on it is drawn as a line, below it would leave nothing to be seen of the rest.
_NEAR = 0.4


def applies(report: TraceReport) -> bool:
    """Whether anything is known to have been allocated on a device."""
    return _peak(report) is not None


@styled
def memory(report: TraceReport) -> Figure:
    """Most allocated in each 60th of the time; peak, and capacity where it is not far above."""
    peak = _peak(report)
    if peak is None:
        raise ValueError("the report says nothing of a device's memory; ask memory.applies() first")
    highest, _ = course(peak.device, report.topics.memory.timeline)
    unit = unit_of_size(peak.peak_bytes)
    figure, axes = sheet(right=0.2)
    axes.stairs([each / unit.size for each in highest], fill=True, color=colour("allocated"))
    axes.set_xlim(0, _PARTS)
    top = max(*highest, peak.peak_bytes) * 1.15
    if _is_near(peak):
        top = max(top, (peak.capacity_bytes or 0) * 1.15)
        _line(axes, (peak.capacity_bytes or 0) / unit.size, f"capacity {size(peak.capacity_bytes or 0)}")
    _line(axes, peak.peak_bytes / unit.size, f"peak {size(peak.peak_bytes)}, step {peak.peak_step}")
    axes.set_ylim(0, (top / unit.size) or 1)
    few_ticks(axes.yaxis)
    axes.set_xticks([0, _PARTS], ["first counted step", "last"])
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[1].set_horizontalalignment("right")
    axes.grid(axis="y")
    caption(figure, _title(peak, unit.name))
    return figure


def _title(peak: MemoryPeak, unit: str) -> str:
    above = f"; it has {size(peak.capacity_bytes)}" if peak.capacity_bytes and not _is_near(peak) else ""
    return f"memory allocated on GPU {peak.device} ({unit}){above}"


def _line(axes: Axes, y: float, text: str) -> None:
    axes.axhline(y, color=INK, linewidth=1.2, linestyle="--")
    note(axes, text, (1, y), (-4, 4), xycoords=axes.get_yaxis_transform(), ha="right")


def alt(report: TraceReport) -> str:
    """Peak, its share of the capacity, and what is left at the end."""
    peak = _peak(report)
    if peak is None:
        return ""
    _, last = course(peak.device, report.topics.memory.timeline)
    least = "" if peak.is_total else "at least "
    text = f"Memory allocated on GPU {peak.device} over the counted steps: {least}{size(peak.peak_bytes)} at most"
    if peak.capacity_bytes:
        text += f", {share(peak.peak_bytes / peak.capacity_bytes)} of {size(peak.capacity_bytes)}"
    return f"{text}, in step {peak.peak_step}; {size(last[-1])} at the end."


def _peak(report: TraceReport) -> MemoryPeak | None:
    facts = report.topics.memory
    known = {each.device for each in facts.timeline}
    peaks = [each for each in facts.peaks if each.memory == "device" and each.peak_bytes and each.device in known]
    return max(peaks, key=lambda each: each.peak_bytes, default=None)


def _is_near(peak: MemoryPeak) -> bool:
    return bool(peak.capacity_bytes) and peak.peak_bytes >= _NEAR * (peak.capacity_bytes or 0)


def course(device: int | None, timeline: Sequence[MemoryPart]) -> tuple[Sequence[int], Sequence[int]]:
    """Highest and last bytes of each part of the time, on the device; between samples nothing changes."""
    by_part: dict[int, MemoryPart] = {each.part: each for each in timeline if each.device == device}
    left = by_part[-1].last_bytes if -1 in by_part else 0
    highest, last = [], []
    for number in range(_PARTS):
        part = by_part.get(number)
        highest.append(max(left, part.highest_bytes) if part else left)
        left = part.last_bytes if part else left
        last.append(left)
    return highest, last


CHART = Chart("memory", "memory", memory, applies, alt, "no record of memory")
