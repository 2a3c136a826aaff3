"""What a change is made of: from the step of the base, cause by cause, to that of the new run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.common.units import change
from traceq.reports.charts.sheet import WIDTH, bar, caption, few_ticks, inches, sheet, styled, unit_of_time
from traceq.runs.compare.comparison import Cause, Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 7
_ROW, _TOP, _BOTTOM, _APART = 0.36, 0.34, 0.34, 0.12
_ROOM = 0.9
_MARGIN = 0.04

Bar = tuple[str, str, float, float, str]


def applies(comparison: Comparison) -> bool:
    """Whether there is a change with more than one cause."""
    return comparison.change is not None and any(cause.delta_ns for cause in comparison.causes)


@styled
def waterfall(comparison: Comparison) -> Figure:
    """Floating bars, the largest causes first, the others as one."""
    bars = _bars(comparison)
    low = min(min(start, start + size) for _, _, start, size, _ in bars[1:-1])
    high = max(max(start, start + size) for _, _, start, size, _ in bars)
    # Bars that float far from 0 would all look alike beside the whole step: the axis begins below the lowest of them.
    begin = max(0.0, low - 0.6 * (high - low))
    unit = unit_of_time(high)
    left = max(inches(label) for _, label, *_ in bars) + 2 * _APART
    figure, axes = sheet(height=len(bars) * _ROW + _TOP + _BOTTOM, left=left, right=_ROOM, top=_TOP, bottom=_BOTTOM)
    for number, (kind, _, at_first, size, text) in enumerate(bars):
        start, end = max(at_first, begin), at_first + size
        bar(axes, number, start / unit.size, (end - start) / unit.size, kind)
        at = max(start, end) + _APART / (WIDTH - left - _ROOM) * (high - begin)
        axes.text(at / unit.size, number, text, va="center_baseline")
    axes.set_xlim(begin / unit.size, (begin + (high - begin) * (1 + _MARGIN)) / unit.size)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_yticks(range(len(bars)), [label for _, label, *_ in bars])
    few_ticks(axes.xaxis)
    cut = "" if begin == 0 else f", from {begin / unit.size:,.4g}"
    caption(figure, f"what the change of a step is made of, {unit.name}{cut}")
    return figure


def _bars(comparison: Comparison) -> list[Bar]:
    """Kind, label, start, size and text of each bar, in ns."""
    total = comparison.change
    if total is None:
        return []
    bars: list[Bar] = [("rest", "base", 0.0, float(total.base_ns), "")]
    reached = total.base_ns
    for kind, delta in _steps(comparison.causes):
        bars.append((kind, kind, float(reached), float(delta), change(delta)))
        reached += delta
    return [*bars, ("rest", "new", 0.0, float(total.new_ns), "")]


def _steps(causes: Sequence[Cause]) -> list[tuple[str, int]]:
    changed = [(cause.category, cause.delta_ns) for cause in causes if cause.delta_ns]
    others = sum(delta for _, delta in changed[_MOST:])
    return [*changed[:_MOST], *([("others", others)] if len(changed) > _MOST else [])]


def alt(comparison: Comparison) -> str:
    """What the picture shows."""
    named = ", ".join(f"{kind} {change(delta)}" for kind, delta in _steps(comparison.causes)[:4])
    return f"What the change of a step is made of, the largest first: {named}."
