"""The causes of a change: from the step of the base, which is 0, cause by cause, to that of the new run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from traceq.analysis.categories import label
from traceq.common.units import change, duration
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
_ROOM = 80.0
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
    """Draw a waterfall on an axis on which the base's step is 0: a bar for each of 7 causes, for the others, and for them all.

    A thin line on a bar is the confidence interval of its size, cut at the ends of the axis.
    """
    bars = _list_bars(comparison)
    ends = [0.0, *(bar.start + bar.size for bar in bars)]
    least, most = min(ends), max(ends)
    margin = _MARGIN * (most - least)
    low, high = least - (margin if least < 0 else 0.0), most + margin
    unit = choose_time_unit(max(-low, high))
    marks: list[Shape] = [Stroke([[(0, -0.5), (0, len(bars) - 0.5)]], width=0.8)]
    for row, bar in enumerate(bars):
        start, end = bar.start, bar.start + bar.size
        left, length = min(start, end) / unit.size, abs(end - start) / unit.size
        marks += make_row_bars(row, left, [(bar.kind, length)])
        reach = left + length
        if bar.interval is not None:
            ends = [min(max(bar.start + bound, low), high) / unit.size for bound in bar.interval]
            caps = [[(end, row - _CAP), (end, row + _CAP)] for end in ends]
            marks.append(Stroke([[(end, row) for end in ends], *caps], width=1.0))
            reach = max(reach, *ends)
        marks.append(Text(bar.text, reach, row, APART))
    names = [bar.label for bar in bars]
    x = make_axis(low / unit.size, high / unit.size, label=f"change of a step ({unit.name})")
    return Drawing(_write_title(comparison), [make_rows_panel(names, marks, x, right=_ROOM)])


def _write_title(comparison: Comparison) -> str:
    """Return the chart's title, with the step of the base and of the new run where they are known."""
    title = "what the change of a step is made of"
    total = comparison.change
    return title if total is None else f"{title}, from {duration(total.base_ns)} to {duration(total.new_ns)}"


def _list_bars(comparison: Comparison) -> list[ChangeBar]:
    """Return the bars: each cause from where the one before ends, then the whole change; empty without a change."""
    total = comparison.change
    if total is None:
        return []
    bars: list[ChangeBar] = []
    reached = 0
    intervals = {cause.category: cause.interval_ns for cause in comparison.causes}
    for kind, delta in _choose_causes(comparison.causes):
        bars.append(ChangeBar(kind, label(kind), float(reached), float(delta), change(delta), intervals.get(kind)))
        reached += delta
    whole = total.new_ns - total.base_ns
    return [*bars, ChangeBar("rest", "in all", 0.0, float(whole), change(whole))]


def _choose_causes(causes: Sequence[Cause]) -> list[tuple[str, int]]:
    """Return (category, change in ns) of the first 7 categories that changed, and the sum of the rest as "others"."""
    changed = [(cause.category, cause.delta_ns) for cause in causes if cause.delta_ns]
    others = sum(delta for _, delta in changed[_MOST:])
    return [*changed[:_MOST], *([("others", others)] if len(changed) > _MOST else [])]


def describe(comparison: Comparison) -> str:
    """Return a sentence on the first 4 causes of the change and their sizes."""
    words = ", ".join(
        f"{label(kind)} {change(delta)}" for kind, delta in _choose_causes(comparison.causes)[:_DESCRIBED]
    )
    return f"What the change of a step is made of, the largest first: {words}."
