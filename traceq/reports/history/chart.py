"""Small multiples of a history: a panel for each quantity, all over the same reports, levels and changes as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from traceq.common.units import SIZE_UNITS, TIME_UNITS, change_share, choose_unit
from traceq.reports.drawing import Axis, Dot, Drawing, Panel, Shape, Stroke, Tick, make_axis
from traceq.reports.history.words import format_slope
from traceq.runs.history.history import ShownHistory
from traceq.runs.history.trend import QuantityTrend

# Dots and points of a panel; of more reports the median of neighbours is drawn.
_MOST_POINTS = 240
_MOST_DOTS = 120
_PANEL, _GAP, _FIRST = 46.0, 36.0, 44.0
_MOST_TICKS = 3
_SCALES = {"ns": TIME_UNITS, "bytes": SIZE_UNITS}
_KIND, _CHANGED = "compute", "idle_data"
_LEFT = 62.0


def draw_quantities(shown: ShownHistory, trends: Sequence[QuantityTrend]) -> Drawing:
    """Draw each quantity over the reports, in a panel of its own: a dot a report, its levels or its slope as lines.

    A dashed line stands where a level changed. Of more than 240 reports the medians of neighbours are drawn.
    """
    count = len(shown.series.report_ids)
    panels = []
    for place, trend in enumerate(trends):
        is_last = place == len(trends) - 1
        x = Axis(-0.5, count - 0.5, _list_ticks(shown) if is_last else ())
        panels.append(_draw_panel(shown, trend, x, _FIRST + place * (_PANEL + _GAP)))
    return Drawing(f"by report, {count:,} of them", panels)


def _list_ticks(shown: ShownHistory) -> list[Tick]:
    """Return ticks at a few reports, with their days."""
    count = len(shown.series.report_ids)
    numbers = sorted({round(part * (count - 1) / (_MOST_TICKS - 1)) for part in range(_MOST_TICKS)})
    days = [str(np.datetime64(int(shown.series.seconds[number]), "s"))[:10] for number in numbers]
    return [Tick(number, day) for number, day in zip(numbers, days, strict=True)]


def _draw_panel(shown: ShownHistory, trend: QuantityTrend, x: Axis, top: float) -> Panel:
    """Return the panel of a quantity, whose upper edge is `top` points below that of the drawing."""
    values = shown.series.values[trend.name]
    numbers, known = _thin_values(values)
    unit, scale = _choose_scale(float(np.max(known)), trend.unit)
    known = known / scale
    low, high = float(known.min()), float(known.max())
    around = (high - low) * 0.1 or abs(high) * 0.05 or 1.0
    y = make_axis(low - around, high + around, has_grid=True)
    y = Axis(y.low, y.high, _outer_ticks(y.ticks), has_grid=True, label=_title_panel(trend, unit))
    shapes: list[Shape] = []
    if len(numbers) <= _MOST_DOTS:
        shapes += [Dot(_KIND, float(number), float(value), 1.6) for number, value in zip(numbers, known, strict=True)]
    else:
        shapes.append(Stroke([list(zip(map(float, numbers), map(float, known), strict=True))], _KIND, 0.9))
    shapes += _draw_levels(trend, len(values), scale, y)
    shapes += _draw_slope(shown, trend, scale)
    return Panel(shapes, x, y, height=_PANEL, left=_LEFT, top=top)


def _outer_ticks(ticks: Sequence[Tick]) -> Sequence[Tick]:
    """Return the lowest and the highest tick: a low panel has no room for more."""
    return ticks if len(ticks) < 3 else (ticks[0], ticks[-1])  # noqa: PLR2004 - as many as are left


def _title_panel(trend: QuantityTrend, unit: str) -> str:
    """Return the name of a quantity with its unit, and how it moved; short enough for a phone."""
    moved = {"creep": format_slope(trend), "level": change_share((trend.ratio or 1) - 1)}.get(trend.kind)
    return f"{trend.name}{f' ({unit})' if unit else ''}{f': {moved}' if moved else ''}"


def _choose_scale(highest: float, unit: str) -> tuple[str, float]:
    """Return the name of the unit that fits values up to `highest`, and its size in `unit`."""
    if unit == "share":
        return "%", 0.01
    if unit in _SCALES:
        name, size = choose_unit(highest, _SCALES[unit])
        return name, float(size)
    return unit, 1.0


def _thin_values(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[Sequence[float], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the numbers of the reports to draw and their values: of many, the median of neighbours."""
    places = np.flatnonzero(np.isfinite(values))
    known = values[places]
    size = -(-len(known) // _MOST_POINTS)
    if size == 1:
        return [float(place) for place in places], known
    whole = len(known) // size * size
    medians = np.median(known[:whole].reshape(-1, size), axis=1)
    return [float(number) for number in places[:whole].reshape(-1, size).mean(axis=1)], medians


def _draw_levels(trend: QuantityTrend, count: int, scale: float, y: Axis) -> Iterator[Shape]:
    """Yield the levels as lines, and a dashed line where each changed."""
    if not trend.changes:
        return
    edges = [trend.start, *(change.number for change in trend.changes), count]
    yield Stroke(
        [
            [(low - 0.5, level / scale), (high - 0.5, level / scale)]
            for low, high, level in zip(edges, edges[1:], trend.level_medians, strict=False)
        ],
        width=1.4,
    )
    for change in trend.changes:
        yield Stroke([[(change.number - 0.5, y.low), (change.number - 0.5, y.high)]], _CHANGED, 1.2, "3 2")


def _draw_slope(shown: ShownHistory, trend: QuantityTrend, scale: float) -> Iterator[Shape]:
    """Yield the line of a creep, from the first report that counts to the last."""
    if trend.kind != "creep" or not trend.ratio:
        return
    last = len(shown.series.report_ids) - 1
    begin, end = trend.now / trend.ratio / scale, trend.now / scale
    # Over reports a slope over time is no straight line; its ends are right.
    yield Stroke([[(float(trend.start), begin), (float(last), end)]], width=1.4)
