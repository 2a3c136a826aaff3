"""Runs at several values of a knob: throughput above, the step below, with its curve, its knee and the budget."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

from traceq.common.units import duration, rate
from traceq.reports.charts.palette import INK, PAGE, colour
from traceq.reports.charts.sheet import WIDTH, caption, few_ticks, named, note, sheet, styled, unit_of_time
from traceq.reports.trials.words import number, per_second
from traceq.runs.trials.tradeoff import Percentile, Point, Tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches.
_PANEL = 2.0
_HEIGHT, _TOP, _BETWEEN, _BOTTOM = 5.4, 0.32, 0.6, 0.54
_LEFT, _RIGHT = 0.75, 0.2

_SPAN = 4.0
_CURVE_POINTS = 200
_LEAST_APART = 0.08
_MARGIN = 0.06

_KINDS: dict[str, Percentile] = {"copy_h2d": "p95", "idle_data": "p99"}


@styled
def chart(found: Tradeoff) -> Figure:
    """Both panels over the same values; the values are at a logarithmic scale where they span more than a factor of 4."""
    legend = [("compute", "typical step"), *_KINDS.items()]
    figure, rates = sheet(
        height=_HEIGHT, left=_LEFT, right=_RIGHT, top=_TOP, bottom=_HEIGHT - _TOP - _PANEL, legend=legend
    )
    whole = float(figure.get_size_inches()[1])
    height = (_HEIGHT - _TOP - _PANEL - _BETWEEN - _BOTTOM) / whole
    steps = figure.add_axes(
        (_LEFT / WIDTH, (whole - _HEIGHT + _BOTTOM) / whole, (WIDTH - _LEFT - _RIGHT) / WIDTH, height)
    )
    _scale(rates, found)
    _scale(steps, found)
    _throughput(rates, found)
    unit = unit_of_time(max(point.p99_ns for point in found.points))
    _steps(steps, found, unit.size)
    steps.set_xlabel(named(found.setting.knob), fontsize="medium")
    caption(figure, f"throughput ({per_second(found.setting)})")
    figure.text(0.08 / WIDTH, (whole - _TOP - _PANEL - _BETWEEN + 0.12) / whole, f"time of a step ({unit.name})")
    return figure


def _values(found: Tradeoff) -> list[float]:
    return [point.value or 0.0 for point in found.points]


def _is_wide(found: Tradeoff) -> bool:
    values = _values(found)
    return found.setting.is_amount and values[-1] > _SPAN * values[0]


def _scale(axes: Axes, found: Tradeoff) -> None:
    """Ticks at the values that were tried, as many as have room."""
    values = _values(found)
    low, high = values[0], values[-1]
    if _is_wide(found):
        axes.set_xscale("log", base=2)
        around = (high / low) ** _MARGIN
        axes.set_xlim(low / around, high * around)
        places = [log(value / low) / log(high / low) for value in values]
    else:
        around = (high - low) * _MARGIN
        axes.set_xlim(low - around, high + around)
        places = [(value - low) / (high - low) for value in values]
    kept = [0]
    for place in range(1, len(values)):
        if places[place] - places[kept[-1]] >= _LEAST_APART:
            kept.append(place)
    axes.set_xticks([values[place] for place in kept], [number(values[place]) for place in kept], minor=False)
    axes.set_xticks([], minor=True)


def _throughput(axes: Axes, found: Tradeoff) -> None:
    values = _values(found)
    rates = [point.throughput for point in found.points]
    axes.plot(values, rates, color=colour("compute"), linewidth=1.2, zorder=2)
    for value, point in zip(values, found.points, strict=True):
        if point.throughput_interval is not None:
            axes.plot([value, value], point.throughput_interval, color=INK, linewidth=1.6, zorder=4)
    axes.scatter(values, rates, 40, color=colour("compute"), edgecolor=PAGE[0], zorder=3)
    highest = [
        point.throughput_interval[1] if point.throughput_interval else point.throughput for point in found.points
    ]
    axes.set_ylim(0, max(*highest, *rates) * 1.12 or 1)
    few_ticks(axes.yaxis)
    axes.grid(axis="y")
    _knee(axes, found, with_text=True)


def _steps(axes: Axes, found: Tradeoff, unit: int) -> None:
    values = _values(found)
    for kind, percentile in reversed(_KINDS.items()):
        times = [point.latency(percentile) / unit for point in found.points]
        # Wider than the point of the typical step, which often lies on them.
        axes.scatter(values, times, 260, marker="_", linewidth=2, color=colour(kind), zorder=3)
    axes.scatter(
        values,
        [point.typical_ns / unit for point in found.points],
        40,
        color=colour("compute"),
        edgecolor=PAGE[0],
        zorder=4,
    )
    _curve(axes, found, unit)
    top = max(point.p99_ns for point in found.points) / unit
    budget = found.setting.budget_ns
    if budget is not None:
        # A budget far above all steps would leave nothing to be seen of them.
        if budget / unit <= top * 2:
            top = max(top, budget / unit)
            axes.axhline(budget / unit, color=INK, linewidth=1.2, linestyle="--")
        text = f"{found.setting.percentile} budget {duration(budget)}"
        ends = [abs(found.points[place].typical_ns - budget) for place in (0, -1)]
        at, away, side = (1, -4, "right") if ends[1] > ends[0] else (0, 4, "left")
        place = (at, min(budget / unit, top * 1.08))
        note(axes, text, place, (away, 4), xycoords=axes.get_yaxis_transform(), ha=side)
    axes.set_ylim(0, top * 1.2 or 1)
    few_ticks(axes.yaxis)
    axes.grid(axis="y")
    _knee(axes, found, with_text=False)


def _curve(axes: Axes, found: Tradeoff, unit: int) -> None:
    """Within the measured range only."""
    if found.fit is None:
        return
    ends = _values(found)
    low, high = ends[0], ends[-1]
    places = [place / _CURVE_POINTS for place in range(_CURVE_POINTS + 1)]
    values = [low * (high / low) ** place if _is_wide(found) else low + (high - low) * place for place in places]
    axes.plot(values, [found.fit.curve.at(value) / unit for value in values], color=colour("compute"), linewidth=1.2)


def _knee(axes: Axes, found: Tradeoff, *, with_text: bool) -> None:
    if found.knee is None or found.knee.value is None:
        return
    axes.axvline(found.knee.value, color=INK, linewidth=1.2, linestyle=":")
    if with_text:
        low, high = axes.get_xlim()
        middle = (low * high) ** 0.5 if _is_wide(found) else (low + high) / 2
        text = f"knee, about {number(found.knee.value, rough=True)}"
        away, side = (5, "left") if found.knee.value <= middle else (-5, "right")
        note(axes, text, (found.knee.value, 0), (away, 5), xycoords=axes.get_xaxis_transform(), ha=side)


def alt(found: Tradeoff) -> str:
    """Each value with its throughput and its step."""
    knob = named(found.setting.knob)
    each = "; ".join(_said(point, found) for point in found.points)
    ways = {(later.throughput > earlier.throughput) for earlier, later in pairwise(found.points)}
    way = {frozenset({True}): "rises throughout", frozenset({False}): "never rises"}.get(
        frozenset(ways), "rises and falls"
    )
    at = None if found.knee is None else found.knee.value
    knee = "" if at is None else f" The knee is at about {number(at, rough=True)}."
    return f"Throughput and step by {knob}; throughput {way}: {each}.{knee}"


def _said(point: Point, found: Tradeoff) -> str:
    unit = per_second(found.setting)
    return f"{number(point.value)}: {rate(point.throughput)} {unit}, {duration(round(point.typical_ns))} a step"
