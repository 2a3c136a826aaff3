"""The Pareto front: the step against throughput, or against memory where every setting does the same work."""

from __future__ import annotations

from collections.abc import Sequence

from traceq.reports.drawing import (
    LABELLED_TOP,
    Dot,
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
from traceq.reports.trials.words import NAMED, format_amount, per_second
from traceq.runs.trials.experiment import Experiment, Quantity, SettingResult

_MOST_POINTS = 40
# Less cannot be seen.
_APART = 1.05
# What a name takes, as shares of the axes.
_WIDE, _HIGH = 0.3, 0.07
_LEGEND = [("compute", "on the front"), ("other", "dominated")]


def has_data(found: Experiment) -> bool:
    """Return whether two or more settings were judged and there is a second quantity to draw the step against."""
    return _choose_other(found) is not None and len(_list_points(found)) > 1


def _choose_other(found: Experiment) -> Quantity | None:
    """Return the quantity to draw the step against: throughput if work differs, else memory; None if neither tells."""
    results = _list_judged(found)
    works = {round(result.work, 6) for result in results}
    memory: tuple[Quantity, ...] = ("gpu_memory", "host_memory")
    known = [name for name in memory if _is_telling(name, results)]
    return "throughput" if len(works) > 1 else known[0] if known else None


def _is_telling(quantity: Quantity, results: Sequence[SettingResult]) -> bool:
    """Return whether the quantity is known of all results and differs enough to be seen."""
    values = [result.measures[quantity].value for result in results if quantity in result.measures]
    return bool(values) and len(values) == len(results) and max(values) > min(values) * _APART


def _list_judged(found: Experiment) -> list[SettingResult]:
    """Return the results of the settings on the Pareto front or dominated by one on it."""
    judged = {*found.front, *(setting.setting for setting in found.dominated)}
    return [result for result in found.results if result.setting.name in judged]


def _list_points(found: Experiment) -> list[tuple[SettingResult, float, float]]:
    """Return (result, step in ns, value of the second quantity) of up to 40 judged settings."""
    against = _choose_other(found) or "step"
    return [
        (result, result.measures["step"].value, result.measures[against].value)
        for result in _list_judged(found)[:_MOST_POINTS]
    ]


def draw(found: Experiment) -> Drawing:
    """Draw each setting as a point of step and other quantity; points on the Pareto front are joined."""
    against = _choose_other(found) or "step"
    points = _list_points(found)
    unit = choose_time_unit(max(step for _, step, _ in points))
    scale, label = 1, f"throughput ({per_second(found)})"
    if against != "throughput":
        size = choose_size_unit(max(other for _, _, other in points))
        scale, label = size.size, f"{NAMED[against]} ({size.name})"
    places = {result.setting.name: (step / unit.size, other / scale) for result, step, other in points}
    right, top = (max(place[way] for place in places.values()) for way in (0, 1))
    marks: list[Shape] = [Stroke([sorted(place for name, place in places.items() if name in found.front)], "compute")]
    labelled: list[tuple[float, float]] = []
    # Those on the front have their names first; a name that would stand in another one is left out.
    for name, (x, y) in sorted(places.items(), key=lambda item: item[0] not in found.front):
        marks.append(Dot("compute" if name in found.front else "other", x, y))
        if all(abs(x / right - near_x) > _WIDE or abs(y / top - near_y) > _HIGH for near_x, near_y in labelled):
            labelled.append((x / right, y / top))
            marks.append(Text(shorten_label(name), x, y, 5, 5, is_above=True))
    x_axis = make_axis(0, right * 1.3, has_grid=True, label=f"typical step ({unit.name})")
    y_axis = make_axis(0, top * 1.2 or 1, has_grid=True, label=label)
    panel = Panel(marks, x_axis, y_axis, height=180.0, top=LABELLED_TOP)
    return Drawing(f"step against {NAMED[against]}", [panel], _LEGEND)


def describe(found: Experiment) -> str:
    """Return a sentence with the step and second quantity of each judged setting, and which setting dominates it."""
    against = _choose_other(found) or "step"
    beaten = {setting.setting: setting.by for setting in found.dominated}
    words = "; ".join(
        f"{result.setting.name}: {format_amount('step', step)}, {format_amount(against, other)}"
        + (f", dominated by {beaten[result.setting.name]}" if result.setting.name in beaten else "")
        for result, step, other in _list_points(found)
    )
    return f"Step against {NAMED[against]} by setting: {words}."
