"""The Pareto front: the step against throughput, or against memory where every setting does the same work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.reports.charts.palette import PAGE, colour
from traceq.reports.charts.sheet import caption, few_ticks, named, note, sheet, styled, unit_of_size, unit_of_time
from traceq.reports.trials.words import NAMED, amount, per_second
from traceq.runs.trials.experiment import Experiment, Quantity, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 40
# Less cannot be seen.
_APART = 1.05
# What a name takes, as shares of the axes.
_WIDE, _HIGH = 0.3, 0.07
_LEGEND = [("compute", "on the front"), ("other", "dominated")]


def applies(found: Experiment) -> bool:
    """Whether two settings differ in two ways."""
    return _against(found) is not None and len(_points(found)) > 1


def _against(found: Experiment) -> Quantity | None:
    """What the step is drawn against."""
    results = _ran(found)
    works = {round(each.work, 6) for each in results}
    memory: tuple[Quantity, ...] = ("gpu_memory", "host_memory")
    known = [name for name in memory if _differs(name, results)]
    return "throughput" if len(works) > 1 else known[0] if known else None


def _differs(quantity: Quantity, results: Sequence[Result]) -> bool:
    """Whether it is known of all, and there is something to see."""
    values = [each.measures[quantity].value for each in results if quantity in each.measures]
    return bool(values) and len(values) == len(results) and max(values) > min(values) * _APART


def _ran(found: Experiment) -> list[Result]:
    judged = {*found.front, *(each.setting for each in found.dominated)}
    return [each for each in found.results if each.setting.name in judged]


def _points(found: Experiment) -> list[tuple[Result, float, float]]:
    against = _against(found) or "step"
    return [(each, each.measures["step"].value, each.measures[against].value) for each in _ran(found)[:_MOST_POINTS]]


@styled
def chart(found: Experiment) -> Figure:
    """A point a setting; those on the front are joined."""
    against = _against(found) or "step"
    points = _points(found)
    figure, axes = sheet(height=3.4, bottom=0.55, legend=_LEGEND)
    unit = unit_of_time(max(step for _, step, _ in points))
    scale, name = 1, per_second(found)
    if against != "throughput":
        size = unit_of_size(max(other for _, _, other in points))
        scale, name = size.size, f"{NAMED[against]}, {size.name}"
    front = sorted(
        (step / unit.size, other / scale) for each, step, other in points if each.setting.name in found.front
    )
    axes.plot(*zip(*front, strict=True), color=colour("compute"), linewidth=1.2, zorder=2)
    right, top = max(step for _, step, _ in points), max(other for _, _, other in points)
    labelled: list[tuple[float, float]] = []
    # Those on the front have their names first; a name that would stand in another one is left out.
    for each, step, other in sorted(points, key=lambda point: point[0].setting.name not in found.front):
        kind = "compute" if each.setting.name in found.front else "other"
        at = (step / unit.size, other / scale)
        axes.scatter(*at, 40, color=colour(kind), edgecolor=PAGE[0], zorder=3)
        if all(abs(step / right - x) > _WIDE or abs(other / top - y) > _HIGH for x, y in labelled):
            labelled.append((step / right, other / top))
            note(axes, named(each.setting.name), at, (5, 5))
    axes.set_xlim(0, right / unit.size * 1.3)
    axes.set_ylim(0, top / scale * 1.2 or 1)
    few_ticks(axes.xaxis)
    few_ticks(axes.yaxis)
    axes.grid()
    axes.set_xlabel(f"typical step ({unit.name})", fontsize="medium")
    caption(figure, name)
    return figure


def alt(found: Experiment) -> str:
    """Each setting with both numbers, and whether it is dominated."""
    against = _against(found) or "step"
    beaten = {each.setting: each.by for each in found.dominated}
    said = "; ".join(
        f"{each.setting.name}: {amount('step', step)}, {amount(against, other)}"
        + (f", dominated by {beaten[each.setting.name]}" if each.setting.name in beaten else "")
        for each, step, other in _points(found)
    )
    return f"Step against {NAMED[against]} by setting: {said}."
