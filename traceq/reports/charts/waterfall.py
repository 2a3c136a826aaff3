"""What a change is made of: from the step of the base, cause by cause, to that of the new run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from traceq.common.units import change
from traceq.reports.charts.palette import INK
from traceq.reports.charts.sheet import WIDTH, bar, caption, few_ticks, inches, sheet, styled, unit_of_time
from traceq.runs.compare.comparison import Cause, Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 7
_ROW, _TOP, _BOTTOM, _APART = 0.36, 0.34, 0.34, 0.12
_ROOM = 0.9
_MARGIN = 0.04


class Bar(NamedTuple):
    """Kind, label, start and size (ns) of a bar, its text, and the interval of its size where it has one."""

    kind: str
    label: str
    start: float
    size: float
    text: str
    interval: tuple[int, int] | None = None


def applies(comparison: Comparison) -> bool:
    """Whether there is a change with more than one cause."""
    return comparison.change is not None and any(cause.delta_ns for cause in comparison.causes)


@styled
def waterfall(comparison: Comparison) -> Figure:
    """Floating bars, the largest causes first, the others as one; a line on each is its interval, as far as the axis goes."""
    bars = _bars(comparison)
    low = min(min(each.start, each.start + each.size) for each in bars[1:-1])
    high = max(max(each.start, each.start + each.size) for each in bars)
    # Bars that float far from 0 would all look alike beside the whole step: the axis begins below the lowest of them.
    begin = max(0.0, low - 0.6 * (high - low))
    unit = unit_of_time(high)
    left = max(inches(each.label) for each in bars) + 2 * _APART
    figure, axes = sheet(height=len(bars) * _ROW + _TOP + _BOTTOM, left=left, right=_ROOM, top=_TOP, bottom=_BOTTOM)
    for number, each in enumerate(bars):
        start, end = max(each.start, begin), each.start + each.size
        bar(axes, number, start / unit.size, (end - start) / unit.size, each.kind)
        reach = max(start, end)
        if each.interval is not None:
            ends = [min(max(each.start + bound, begin), high) for bound in each.interval]
            axes.plot(
                [end / unit.size for end in ends], [number, number], color=INK, linewidth=1, marker="|", markersize=5
            )
            reach = max(reach, *ends)
        at = reach + _APART / (WIDTH - left - _ROOM) * (high - begin)
        axes.text(at / unit.size, number, each.text, va="center_baseline")
    axes.set_xlim(begin / unit.size, (begin + (high - begin) * (1 + _MARGIN)) / unit.size)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_yticks(range(len(bars)), [each.label for each in bars])
    few_ticks(axes.xaxis)
    cut = "" if begin == 0 else f", from {begin / unit.size:,.4g}"
    caption(figure, f"what the change of a step is made of, {unit.name}{cut}")
    return figure


def _bars(comparison: Comparison) -> list[Bar]:
    """The step of the base, the causes from there on, the step of the new run."""
    total = comparison.change
    if total is None:
        return []
    bars: list[Bar] = [Bar("rest", "base", 0.0, float(total.base_ns), "")]
    reached = total.base_ns
    intervals = {cause.category: cause.interval_ns for cause in comparison.causes}
    for kind, delta in _steps(comparison.causes):
        bars.append(Bar(kind, kind, float(reached), float(delta), change(delta), intervals.get(kind)))
        reached += delta
    return [*bars, Bar("rest", "new", 0.0, float(total.new_ns), "")]


def _steps(causes: Sequence[Cause]) -> list[tuple[str, int]]:
    changed = [(cause.category, cause.delta_ns) for cause in causes if cause.delta_ns]
    others = sum(delta for _, delta in changed[_MOST:])
    return [*changed[:_MOST], *([("others", others)] if len(changed) > _MOST else [])]


def alt(comparison: Comparison) -> str:
    """What the picture shows."""
    named = ", ".join(f"{kind} {change(delta)}" for kind, delta in _steps(comparison.causes)[:4])
    return f"What the change of a step is made of, the largest first: {named}."
