"""The busy share of the GPUs and their counters over the whole capture, with the steps above."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from traceq.common.units import duration, share
from traceq.reports.drawing import (
    APART,
    LABELLED_TOP,
    Area,
    Axis,
    Drawing,
    Panel,
    Place,
    Rect,
    Shape,
    Stroke,
    Text,
    Tick,
    choose_time_unit,
    estimate_width,
    make_axis,
)
from traceq.reports.model import Activity, ActivitySeries, ActivityStep

_SHARE = "share"
_BAND, _ALONE, _SEVERAL = 14.0, 110.0, 46.0
_LABEL_LINE = 26.0
# Room for a number within a step: on a phone, whose drawing is this wide without its margins.
_NARROWEST = 280.0
_MOST_LINES = 200
_OPACITIES = {True: (0.75, 0.55), False: (0.3, 0.2)}


def draw_activity(activity: Activity) -> Drawing:
    """Draw a panel for each series over the time since the capture began; above them the steps, those not counted paler."""
    unit = choose_time_unit(activity.span_ns)
    length = activity.span_ns / unit.size
    x = make_axis(0, length, label=f"time since the capture began ({unit.name})")
    bare = Axis(0, length)
    panels = [_draw_steps(activity, bare, unit.size)] if activity.steps else []
    high = _ALONE if len(activity.series) == 1 else _SEVERAL
    for number, series in enumerate(activity.series):
        top = (panels[-1].bottom + _LABEL_LINE - APART) if panels else LABELLED_TOP
        y = _make_value_axis(series)
        shapes = [*_draw_values(series, length), *_draw_starts(activity.steps, y, unit.size)]
        is_last = number == len(activity.series) - 1
        panels.append(Panel(shapes, x if is_last else bare, y, height=high, top=top))
    return Drawing(f"how busy the GPUs are, in each hundredth of the {duration(activity.span_ns)} captured", panels)


def _draw_steps(activity: Activity, x: Axis, size: int) -> Panel:
    """Return a band with a rectangle for each step, with its number where there is room; `size` is the ns of the unit.

    Of very many steps those that follow one another and all count, or all do not, are one.
    """
    shapes: list[Shape] = []
    if len(activity.steps) > _MOST_LINES:
        for is_counted, group in groupby(activity.steps, key=lambda step: step.is_counted):
            run = [*group]
            first, last = run[0], run[-1]
            wide = (last.after_ns + last.dur_ns - first.after_ns) / size
            shapes.append(Rect("op", first.after_ns / size, 0, wide, 1, _OPACITIES[is_counted][0]))
        return Panel(shapes, x, Axis(0, 1, [Tick(0.5, "step")]), height=_BAND)
    for number, step in enumerate(activity.steps):
        start, wide = step.after_ns / size, step.dur_ns / size
        shapes.append(Rect("op", start, 0, wide, 1, _OPACITIES[step.is_counted][number % 2]))
        if estimate_width(str(step.step)) < _NARROWEST * step.dur_ns / activity.span_ns:
            shapes.append(Text(str(step.step), start + wide / 2, 0.5, anchor="middle"))
    return Panel(shapes, x, Axis(0, 1, [Tick(0.5, "step")]), height=_BAND)


def _make_value_axis(series: ActivitySeries) -> Axis:
    """Return the axis of a series, from 0: to 100 % for shares, else to the highest value, or from the lowest below 0."""
    name = f"GPU {series.device}: {series.name.replace('_', ' ')}"
    if series.unit == _SHARE:
        return Axis(0, 100, [Tick(value, str(value)) for value in (0, 50, 100)], has_grid=True, label=f"{name} (%)")
    known = [value for value in series.parts if value is not None]
    unit = f" ({series.unit})" if series.unit else ""
    return make_axis(min(0.0, *known), max(0.0, *known) * 1.05 or 1.0, has_grid=True, label=f"{name}{unit}")


def _draw_values(series: ActivitySeries, length: float) -> list[Shape]:
    """Return the shapes of a series: an area for how busy a GPU is, lines for what was sampled, with gaps where it was not."""
    wide = length / len(series.parts)
    scale = 100 if series.unit == _SHARE else 1
    if series.name == "busy":
        edges = [place * wide for place in range(len(series.parts) + 1)]
        return [Area("compute", edges, [scale * (value or 0.0) for value in series.parts])]
    paths: list[list[Place]] = []
    for has_sample, run in groupby(enumerate(series.parts), key=lambda part: part[1] is not None):
        if has_sample:
            paths.append([(end * wide, scale * (value or 0)) for place, value in run for end in (place, place + 1)])
    return [Stroke(paths, "communication")]


def _draw_starts(steps: Sequence[ActivityStep], y: Axis, size: int) -> list[Shape]:
    """Return dotted lines at the starts of steps, of at most 200; `size` is the ns of the unit."""
    starts = [step.after_ns / size for step in steps[:: -(-len(steps) // _MOST_LINES) or 1]]
    return [Stroke([[(start, y.low), (start, y.high)] for start in starts], width=0.6, dashes="1 3")] if starts else []


def describe_activity(activity: Activity) -> str:
    """Return a sentence on the mean of each series over the capture, and on the highest part of it."""
    words = "; ".join(filter(None, map(_describe_series, activity.series)))
    return f"Over the {duration(activity.span_ns)} that were captured, by hundredths: {words}."


def _describe_series(series: ActivitySeries) -> str:
    known = [value for value in series.parts if value is not None]
    if not known:
        return ""
    mean, most = sum(known) / len(known), max(known)
    shown = [
        share(value) if series.unit == _SHARE else f"{value:,.4g} {series.unit or ''}".rstrip()
        for value in (mean, most)
    ]
    return f"GPU {series.device} {series.name.replace('_', ' ')} {shown[0]} on average, {shown[1]} at most"
