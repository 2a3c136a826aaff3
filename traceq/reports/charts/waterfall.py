"""The causes of a change: from the step of the base, cause by cause, to that of the new run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from traceq.common.units import change
from traceq.reports.drawing import (
    APART,
    Drawing,
    Shape,
    Stroke,
    Text,
    choose_time_unit,
    make_axis,
    make_row_bars,
    make_rows_panel,
)
from traceq.runs.compare.comparison import Cause, Comparison

_MOST = 7
_DESCRIBED = 4
_ROOM = 65.0
_MARGIN = 0.04
_CAP = 0.1  # of a row: half of the lines at the ends of an interval


class ChangeBar(NamedTuple):
    """A bar of the waterfall: its kind, label, start and size (ns; negative for a saving), and the text behind it.

    `interval` is the confidence interval of the size, ns; None if unknown.
    """

    kind: str
    label: str
    start: float
    size: float
    text: str = ""
    interval: tuple[int, int] | None = None


def has_data(comparison: Comparison) -> bool:
    """Return whether the change of the step is known and any category changed."""
    return comparison.change is not None and any(cause.delta_ns for cause in comparison.causes)


def draw(comparison: Comparison) -> Drawing:
    """Draw a waterfall: the step of the base, a floating bar for each of 7 causes and one for the others, the new step.

    A thin line on a bar is the confidence interval of its size, cut at the ends of the axis.
    """
    bars = _list_bars(comparison)
    low = min(min(bar.start, bar.start + bar.size) for bar in bars[1:-1])
    high = max(max(bar.start, bar.start + bar.size) for bar in bars)
    # Bars that float far from 0 would all look alike beside the whole step: the axis begins below the lowest of them.
    begin = max(0.0, low - 0.6 * (high - low))
    unit = choose_time_unit(high)
    marks: list[Shape] = []
    for row, bar in enumerate(bars):
        start, end = max(bar.start, begin), bar.start + bar.size
        left, length = min(start, end) / unit.size, abs(end - start) / unit.size
        marks += make_row_bars(row, left, [(bar.kind, length)])
        reach = left + length
        if bar.interval is not None:
            ends = [min(max(bar.start + bound, begin), high) / unit.size for bound in bar.interval]
            caps = [[(end, row - _CAP), (end, row + _CAP)] for end in ends]
            marks.append(Stroke([[(end, row) for end in ends], *caps], width=1.0))
            reach = max(reach, *ends)
        marks.append(Text(bar.text, reach, row, APART))
    names = [bar.label for bar in bars]
    x = make_axis(begin / unit.size, (begin + (high - begin) * (1 + _MARGIN)) / unit.size)
    cut = "" if begin == 0 else f", from {begin / unit.size:,.4g}"
    panel = make_rows_panel(names, marks, x, right=_ROOM)
    return Drawing(f"what the change of a step is made of, {unit.name}{cut}", [panel])


def _list_bars(comparison: Comparison) -> list[ChangeBar]:
    """Return the bars: the base's step, each cause from where the one before ends, the new step; empty without a change."""
    total = comparison.change
    if total is None:
        return []
    bars = [ChangeBar("rest", "base", 0.0, float(total.base_ns))]
    reached = total.base_ns
    intervals = {cause.category: cause.interval_ns for cause in comparison.causes}
    for kind, delta in _choose_causes(comparison.causes):
        bars.append(ChangeBar(kind, kind, float(reached), float(delta), change(delta), intervals.get(kind)))
        reached += delta
    return [*bars, ChangeBar("rest", "new", 0.0, float(total.new_ns))]


def _choose_causes(causes: Sequence[Cause]) -> list[tuple[str, int]]:
    """Return (category, change in ns) of the first 7 categories that changed, and the sum of the rest as "others"."""
    changed = [(cause.category, cause.delta_ns) for cause in causes if cause.delta_ns]
    others = sum(delta for _, delta in changed[_MOST:])
    return [*changed[:_MOST], *([("others", others)] if len(changed) > _MOST else [])]


def describe(comparison: Comparison) -> str:
    """Return a sentence on the first 4 causes of the change and their sizes."""
    words = ", ".join(f"{kind} {change(delta)}" for kind, delta in _choose_causes(comparison.causes)[:_DESCRIBED])
    return f"What the change of a step is made of, the largest first: {words}."
