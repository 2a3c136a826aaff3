"""Runs at several values of a knob: throughput above, the step below, with its curve, its knee and the budget."""

from __future__ import annotations

from itertools import pairwise

from traceq.common.units import duration, rate
from traceq.reports.drawing import (
    LABELLED_TOP,
    Axis,
    AxisUnit,
    Dot,
    Drawing,
    Panel,
    Shape,
    Stroke,
    Text,
    Tick,
    choose_time_unit,
    make_axis,
    shorten_label,
)
from traceq.reports.trials.words import format_value, per_second
from traceq.runs.trials.tradeoff import Percentile, Point, Tradeoff

_HEIGHT, _LEFT = 144.0, 54.0
_SPAN = 4.0
_CURVE_POINTS = 200
_LEAST_APART = 0.08
_MARGIN = 0.06
_KINDS: dict[str, Percentile] = {"copy_h2d": "p95", "idle_data": "p99"}


def draw(found: Tradeoff) -> Drawing:
    """Draw throughput above and step below over the values of the knob.

    The axis is logarithmic where they span more than a factor of 4.
    """
    unit = choose_time_unit(max(point.p99_ns for point in found.points))
    x = _value_axis(found)
    above = _draw_throughput(found, x)
    below = _draw_steps(found, x, unit, above.bottom + 24)
    legend = [("compute", "typical step"), *_KINDS.items()]
    return Drawing(f"throughput and step by {shorten_label(found.setting.knob)}", [above, below], legend)


def _list_values(found: Tradeoff) -> list[float]:
    """Return the knob's value at each point, 0 where it is not known."""
    return [point.value or 0.0 for point in found.points]


def _value_axis(found: Tradeoff) -> Axis:
    """Make the axis of the knob's values, with as many of the tried values as ticks as have room."""
    values = _list_values(found)
    low, high = values[0], values[-1]
    if found.setting.is_amount and high > _SPAN * low:
        around = (high / low) ** _MARGIN
        bare = Axis(low / around, high * around, is_log=True)
    else:
        around = (high - low) * _MARGIN
        bare = Axis(low - around, high + around)
    kept = values[:1]
    for value in values[1:]:
        if bare.locate(value) - bare.locate(kept[-1]) >= _LEAST_APART:
            kept.append(value)
    return Axis(bare.low, bare.high, [Tick(value, format_value(value)) for value in kept], is_log=bare.is_log)


def _draw_throughput(found: Tradeoff, x: Axis) -> Panel:
    """Return the panel of throughput at each value, with intervals, and a line at the knee."""
    rates = [(value, point.throughput) for value, point in zip(_list_values(found), found.points, strict=True)]
    intervals = [
        (value, point.throughput_interval) for value, point in zip(_list_values(found), found.points, strict=True)
    ]
    spans = [[(value, end) for end in ends] for value, ends in intervals if ends is not None]
    dots = [Dot("compute", value, reached) for value, reached in rates]
    top = max(reached for _, reached in [*rates, *(place for span in spans for place in span)]) * 1.12 or 1
    y = make_axis(0, top, has_grid=True, label=f"throughput ({per_second(found.setting)})")
    marks: list[Shape] = [Stroke([rates], "compute"), *dots, Stroke(spans, width=1.6), *_draw_knee(found, x, y)]
    if found.knee is not None and found.knee.value is not None:
        text = f"knee, about {format_value(found.knee.value, rough=True)}"
        is_left = found.knee.value <= x.middle
        marks.append(
            Text(text, found.knee.value, 0, 5 if is_left else -5, 5, "start" if is_left else "end", is_above=True)
        )
    return Panel(marks, x, y, _HEIGHT, _LEFT, top=LABELLED_TOP)


def _draw_steps(found: Tradeoff, x: Axis, unit: AxisUnit, top: float) -> Panel:
    """Return the panel of the typical, p95 and p99 step at each value, with the fitted curve, the budget and the knee.

    `unit` is that of its times, `top` the panel's upper edge in points.
    """
    size = unit.size
    values = _list_values(found)
    marks: list[Shape] = []
    for kind, percentile in reversed(_KINDS.items()):
        # Wider than the point of the typical step, which often lies on them.
        marks += [
            Dot(kind, value, point.latency(percentile) / size, 8, is_dash=True)
            for value, point in zip(values, found.points, strict=True)
        ]
    marks += _draw_curve(found, x, size)
    marks += [Dot("compute", value, point.typical_ns / size) for value, point in zip(values, found.points, strict=True)]
    highest = max(point.p99_ns for point in found.points) / size
    budget = found.setting.budget_ns
    if budget is not None:
        # A budget far above all steps would leave nothing to be seen of them.
        if budget / size <= highest * 2:
            highest = max(highest, budget / size)
            marks.append(Stroke([[(x.low, budget / size), (x.high, budget / size)]], dashes="5 3"))
        first, last = (abs(found.points[place].typical_ns - budget) for place in (0, -1))
        text, y = f"{found.setting.percentile} budget {duration(budget)}", min(budget / size, highest * 1.08)
        marks.append(
            Text(text, x.high, y, -4, 4, "end", is_above=True)
            if last > first
            else Text(text, x.low, y, 4, 4, is_above=True)
        )
    times = make_axis(0, highest * 1.2 or 1, has_grid=True, label=f"time of a step ({unit.name})")
    x = Axis(x.low, x.high, x.ticks, is_log=x.is_log, label=shorten_label(found.setting.knob))
    return Panel([*marks, *_draw_knee(found, x, times)], x, times, _HEIGHT, _LEFT, top=top)


def _draw_curve(found: Tradeoff, x: Axis, unit: int) -> list[Shape]:
    """Return the fitted curve of the step over the range of tried values, in units of `unit` ns; empty without a fit."""
    if found.fit is None:
        return []
    ends = _list_values(found)
    low, high = ends[0], ends[-1]
    places = [place / _CURVE_POINTS for place in range(_CURVE_POINTS + 1)]
    values = [low * (high / low) ** place if x.is_log else low + (high - low) * place for place in places]
    return [Stroke([[(value, found.fit.curve.at(value) / unit) for value in values]], "compute")]


def _draw_knee(found: Tradeoff, x: Axis, y: Axis) -> list[Shape]:
    """Return a dotted vertical line at the knee; empty if there is none within the axis."""
    if found.knee is None or found.knee.value is None or not x.low <= found.knee.value <= x.high:
        return []
    return [Stroke([[(found.knee.value, y.low), (found.knee.value, y.high)]], dashes="1.5 3")]


def describe(found: Tradeoff) -> str:
    """Return sentences with throughput and step at each value of the knob, and with the knee."""
    knob = shorten_label(found.setting.knob)
    points = "; ".join(_point_words(point, found) for point in found.points)
    ways = {(later.throughput > earlier.throughput) for earlier, later in pairwise(found.points)}
    way = {frozenset({True}): "rises throughout", frozenset({False}): "never rises"}.get(
        frozenset(ways), "rises and falls"
    )
    at = None if found.knee is None else found.knee.value
    knee = "" if at is None else f" The knee is at about {format_value(at, rough=True)}."
    return f"Throughput and step by {knob}; throughput {way}: {points}.{knee}"


def _point_words(point: Point, found: Tradeoff) -> str:
    """Return the knob's value with its throughput and typical step in words."""
    unit = per_second(found.setting)
    return f"{format_value(point.value)}: {rate(point.throughput)} {unit}, {duration(round(point.typical_ns))} a step"
