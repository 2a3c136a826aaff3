"""A memory snapshot over its history, by category, with the peak and its holders; of several snapshots on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traceq.common.units import duration, share, size
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.layers import (
    PARTS,
    UNKNOWN_CATEGORY,
    Layer,
    Moment,
    draw_areas,
    draw_moments,
    list_layers,
    list_legend,
    name_layer,
    room_above,
    sum_layers,
    thin_layers,
)
from traceq.reports.charts.stack import make_bars_panel
from traceq.reports.document import BarRow
from traceq.reports.drawing import (
    Axis,
    AxisUnit,
    Drawing,
    Panel,
    Shape,
    Stroke,
    Text,
    choose_size_unit,
    choose_time_unit,
    make_axis,
    shorten_label,
)
from traceq.reports.model import TraceReport
from traceq.reports.topics.memory import MemoryFailure, MemoryHolder, MemoryLayer, SnapshotPeak

# Of more snapshots those with the highest peaks are drawn.
MOST_DRAWN = 8
_MOST_IN_FULL = 2
_MOST_HOLDERS = 8
_HIGH, _LOW = 155.0, 62.0
_NEARER = 12.0  # panels need no title of their own
_NO_STACK = "(no stack)"
_HISTORY = "since the history began"
_EVENTS = "events of the history"


class History(msgspec.Struct, frozen=True):
    """The memory of one device over the history of a snapshot: its name, its peak, its layers and its last failure."""

    name: str
    peak: SnapshotPeak
    layers: Sequence[Layer]
    failure: MemoryFailure | None = None


def has_course(report: TraceReport) -> bool:
    """Return whether the report is on a snapshot with a history in which memory was in use."""
    return _find_history(report) is not None


def draw_course(report: TraceReport) -> Drawing:
    """Draw memory in use over the history, by category, on the device with the highest peak; with lines at peak and failure.

    Raises ValueError for a report without a history.
    """
    history = _find_history(report)
    if history is None:
        raise ValueError("the report is on no snapshot with a history; ask snapshot.has_course() first")
    return _draw_histories(f"memory in use on GPU {history.peak.device}; shares: at the peak", [history])


def describe_course(report: TraceReport) -> str:
    """Return a sentence on the peak and what it is made of. Empty without a history."""
    history = _find_history(report)
    if history is None:
        return ""
    parts = ", ".join(words for _, words in list_legend(history.layers))
    return f"Memory in use on GPU {history.peak.device} over the history: {_name_peak(history.peak)}, of it {parts}."


def _find_history(report: TraceReport) -> History | None:
    """Return the history of the device with the highest peak in the snapshot; None if nothing was ever in use there."""
    memory = report.topics.memory
    if not memory.snapshot:
        return None
    failure = next((found for found in memory.failures if found.device == memory.snapshot[0].device), None)
    return make_history("", memory.snapshot[0], memory.snapshot_layers, failure)


def make_history(
    name: str, peak: SnapshotPeak, rows: Sequence[MemoryLayer], failure: MemoryFailure | None = None
) -> History | None:
    """Return the history of the peak's device; None if nothing was in use in it."""
    layers = list_layers(rows, peak.device)
    return History(name, peak, layers, failure) if layers else None


def _name_peak(peak: SnapshotPeak) -> str:
    after = "" if peak.after_ns is None else f" after {duration(peak.after_ns)}"
    return f"peak {size(peak.peak_bytes)}{after}"


def _draw_histories(title: str, histories: Sequence[History], outline: Sequence[Layer] = ()) -> Drawing:
    """Return a drawing with a panel for each history, all to one scale of memory and one of time.

    Where one of them has no times, all are drawn over their events. The total of the layers `outline` is a line in the last.
    """
    has_times = all(history.peak.history_ns for history in histories)
    lengths = [(history.peak.history_ns if has_times else history.peak.events) or 1 for history in histories]
    time = choose_time_unit(max(lengths)) if has_times else AxisUnit("", 1)
    unit = choose_size_unit(max(history.peak.peak_bytes for history in histories))
    highest = max(max(sum_layers(history.layers)) for history in histories) / unit.size
    label = f"{time.name} {_HISTORY}" if has_times else _EVENTS
    x = make_axis(0, max(lengths) / time.size, whole=not has_times, label=label)
    y = make_axis(0, highest * 1.05 or 1, has_grid=True)
    several = len(histories) > 1
    panels: list[Panel] = []
    for history, length in zip(histories, lengths, strict=True):
        moments = _list_moments(history, time.size, has_times=has_times)
        layers = thin_layers(history.layers) if len(histories) > _MOST_IN_FULL else history.layers
        shapes: list[Shape] = [*draw_areas(layers, length / time.size, unit), *draw_moments(moments, x, y)]
        if history.name and not moments:
            shapes.append(Text(history.name, x.low, y.high, 0, 4, is_above=True))
        top = (panels[-1].bottom if panels else 0) + room_above(moments)
        panels.append(
            Panel(shapes, Axis(x.low, x.high), y, _LOW if several else _HIGH, top=top - _NEARER * bool(panels))
        )
    line = [_draw_outline(outline, lengths[0] / time.size, unit)] if outline else []
    panels[-1] = msgspec.structs.replace(panels[-1], x=x, shapes=[*panels[-1].shapes, *line])
    kinds = dict(entry for history in histories for entry in list_legend(history.layers))
    legend = [(kind, name_layer(kind) if several else words) for kind, words in kinds.items()]
    return Drawing(f"{title} ({unit.name})", panels, legend)


def _draw_outline(layers: Sequence[Layer], length: float, unit: AxisUnit) -> Shape:
    """Return the total of the layers as a line; `length` is that of all parts on the x axis."""
    totals = sum_layers(layers)
    corners = [
        (edge * length / PARTS, total / unit.size) for part, total in enumerate(totals) for edge in (part, part + 1)
    ]
    return Stroke([corners], width=1.0)


def _list_moments(history: History, divisor: int, *, has_times: bool) -> list[Moment]:
    """Return the moments of the peak and of the last failure, where they are known; the first has the history's name."""
    peak, failure = history.peak, history.failure
    name = f"{history.name}: " if history.name else ""
    moments = []
    place = peak.after_ns if has_times else peak.number
    if place is not None:
        moments.append(Moment(place / divisor, f"{name}{_name_peak(peak)}"))
    if failure is not None and has_times and failure.after_ns is not None:
        text = f"out of memory after {duration(failure.after_ns)}, asked for {size(failure.asked_bytes)}"
        moments.append(Moment(failure.after_ns / divisor, text, "culprit"))
    return moments


def draw_snapshots(reports: Sequence[TraceReport]) -> Drawing:
    """Draw the histories of several snapshots one above the other, to one scale; of more than 8 those with the highest peaks.

    Raises ValueError without a snapshot that has a history.
    """
    return _draw_histories(f"memory in use by {_kind_of(reports)}", _choose_histories(reports))


def has_snapshots(reports: Sequence[TraceReport]) -> bool:
    """Return whether at least two of the reports are on snapshots with a history."""
    return sum(map(has_course, reports)) > 1


def describe_snapshots(reports: Sequence[TraceReport]) -> str:
    """Return a sentence with the peak of each snapshot that is drawn."""
    peaks = ", ".join(f"{history.name} {size(history.peak.peak_bytes)}" for history in _choose_histories(reports))
    return f"Memory in use over the history of each snapshot, peaks: {peaks}."


def _kind_of(reports: Sequence[TraceReport]) -> str:
    return "snapshot" if any(report.trace.rank is None for report in reports) else "rank"


def _choose_histories(reports: Sequence[TraceReport]) -> list[History]:
    """Return the 8 histories with the highest peaks, in the order of the reports."""
    by_rank = _kind_of(reports) == "rank"
    found = []
    for report in reports:
        history = _find_history(report)
        if history is not None:
            name = f"rank {report.trace.rank}" if by_rank else shorten_label(report.trace.file)
            found.append(msgspec.structs.replace(history, name=name))
    kept = sorted(found, key=lambda history: -history.peak.peak_bytes)[:MOST_DRAWN]
    return [history for history in found if history in kept]


def draw_pair(base: History, new: History) -> Drawing:
    """Draw two histories one above the other, to one scale; the line in the lower one is the total of the upper one."""
    return _draw_histories("memory in use; line: the base", [base, new], base.layers)


def has_holders(report: TraceReport) -> bool:
    """Return whether the snapshot's peak has holders."""
    return bool(_list_holders(report))


def draw_holders(report: TraceReport) -> Drawing:
    """Draw the 8 largest holders at the peak of the snapshot's first device as bars, coloured by category."""
    peak = report.topics.memory.snapshot[0]
    rows = [
        BarRow(
            shorten_label(holder.owner or _NO_STACK),
            ((holder.category or UNKNOWN_CATEGORY, float(holder.bytes)),),
            f"{size(holder.bytes)}, {share(holder.bytes / peak.peak_bytes)}",
        )
        for holder in _list_holders(report)
    ]
    kinds = dict.fromkeys(kind for row in rows for kind, _ in row.parts)
    legend = [(kind, name_layer(kind)) for kind in kinds]
    return Drawing(f"held at the peak of {size(peak.peak_bytes)} by", [make_bars_panel(rows)], legend)


def _list_holders(report: TraceReport) -> list[MemoryHolder]:
    memory = report.topics.memory
    if not memory.snapshot or not memory.snapshot[0].peak_bytes:
        return []
    return [holder for holder in memory.holders if holder.device == memory.snapshot[0].device][:_MOST_HOLDERS]


def describe_holders(report: TraceReport) -> str:
    """Return a sentence on the largest holders at the peak. Empty without any."""
    held = ", ".join(f"{holder.owner or _NO_STACK} {size(holder.bytes)}" for holder in _list_holders(report))
    return f"Held at the peak, the most first: {held}." if held else ""


COURSE = Chart(
    "memory-history",
    "snapshot",
    draw_course,
    has_course,
    describe_course,
    "no memory snapshot with a history",
    queries=("memory_snapshot_layers",),
)
HOLDERS = Chart("memory-holders", "snapshot", draw_holders, has_holders, describe_holders, "no memory snapshot")
