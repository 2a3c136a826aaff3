"""The step of each setting with its interval, the baseline's as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.reports.charts.palette import INK, PAGE, colour
from traceq.reports.charts.sheet import caption, few_ticks, inches, named, sheet, styled, unit_of_time
from traceq.reports.trials.words import amount
from traceq.runs.trials.experiment import Experiment, Measure, Result
from traceq.runs.trials.trial import BASELINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.3
_MOST_ROWS = 24
_COLOURS = {"better": "compute", "worse": "idle", "no difference": "other", "cannot tell": "other"}
_LEGEND = [("compute", "better for the goal"), ("idle", "worse"), ("other", "neither, or cannot tell")]


def applies(found: Experiment) -> bool:
    """Whether there is more than the baseline to draw."""
    return len(_rows(found)) > 1


def _rows(found: Experiment) -> list[tuple[Result, Measure]]:
    rows = [(each, each.measures["step"]) for each in found.results if "step" in each.measures]
    return rows[:_MOST_ROWS]


@styled
def chart(found: Experiment) -> Figure:
    """A row a setting, the baseline on top."""
    rows = _rows(found)
    labels = [named(each.setting.name) for each, _ in rows]
    left = max(inches(label) for label in labels) + 0.2
    figure, axes = sheet(height=0.75 + _ROW * len(rows), left=left, legend=_LEGEND)
    unit = unit_of_time(max(step.value for _, step in rows))
    for place, (result, step) in enumerate(rows):
        kind = _colour(found, result)
        if step.interval is not None:
            axes.plot([end / unit.size for end in step.interval], [place, place], color=INK, linewidth=1.6, zorder=3)
        axes.scatter([step.value / unit.size], [place], 40, color=colour(kind), edgecolor=PAGE[0], zorder=4)
        if result.setting.name == BASELINE:
            axes.axvline(step.value / unit.size, color=INK, linewidth=1.2, linestyle=":")
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    highest = max((step.interval or (0, step.value))[1] for _, step in rows) / unit.size
    axes.set_xlim(0, highest * 1.05)
    few_ticks(axes.xaxis)
    axes.grid(axis="x")
    caption(figure, f"typical step, 95 % interval ({unit.name})")
    return figure


def _colour(found: Experiment, result: Result) -> str:
    difference = None if found.quantity is None else result.differences.get(found.quantity)
    return "other" if difference is None or result.setting.kind == "ablate" else _COLOURS[difference.verdict]


def alt(found: Experiment) -> str:
    """Each setting with its step."""
    steps = "; ".join(f"{each.setting.name}: {amount('step', step.value)}" for each, step in _rows(found))
    return f"Typical step by setting: {steps}."
