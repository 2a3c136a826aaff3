"""The step of each setting with its interval, the baseline's as a line."""

from __future__ import annotations

from traceq.reports.drawing import (
    Dot,
    Drawing,
    Shape,
    Stroke,
    choose_time_unit,
    make_axis,
    make_rows_panel,
    shorten_label,
)
from traceq.reports.trials.words import format_amount
from traceq.runs.trials.experiment import Experiment, Measure, SettingResult
from traceq.runs.trials.trial import BASELINE

_ROW = 22.0
_MOST_ROWS = 24
_COLOURS = {"better": "compute", "worse": "idle", "no difference": "other", "cannot tell": "other"}
_LEGEND = [("compute", "better for the goal"), ("idle", "worse"), ("other", "neither, or cannot tell")]


def has_data(found: Experiment) -> bool:
    """Return whether the step is known for two or more settings, the baseline included."""
    return len(_list_rows(found)) > 1


def _list_rows(found: Experiment) -> list[tuple[SettingResult, Measure]]:
    """Return (result, measured step) of the first 24 settings with a known step."""
    rows = [(result, result.measures["step"]) for result in found.results if "step" in result.measures]
    return rows[:_MOST_ROWS]


def draw(found: Experiment) -> Drawing:
    """Draw the typical step of each setting as a point with its 95 % interval; a dotted line shows the baseline's."""
    rows = _list_rows(found)
    names = [shorten_label(result.setting.name) for result, _ in rows]
    unit = choose_time_unit(max(step.value for _, step in rows))
    marks: list[Shape] = []
    for row, (result, step) in enumerate(rows):
        value = step.value / unit.size
        if result.setting.name == BASELINE:
            marks.append(Stroke([[(value, -0.5), (value, len(rows) - 0.5)]], dashes="1.5 3"))
        if step.interval is not None:
            marks.append(Stroke([[(end / unit.size, row) for end in step.interval]], width=1.6))
        marks.append(Dot(_choose_colour(found, result), value, row))
    highest = max((step.interval or (0, step.value))[1] for _, step in rows) / unit.size
    x = make_axis(0, highest * 1.05, has_grid=True, label=f"typical step ({unit.name})")
    panel = make_rows_panel(names, marks, x, row=_ROW)
    return Drawing("typical step, 95 % interval", [panel], _LEGEND)


def _choose_colour(found: Experiment, result: SettingResult) -> str:
    """Return the kind that colours a setting's point: by its verdict for the goal; neutral for ablations and unknown ones."""
    difference = None if found.quantity is None else result.differences.get(found.quantity)
    return "other" if difference is None or result.setting.kind == "ablate" else _COLOURS[difference.verdict]


def describe(found: Experiment) -> str:
    """Return a sentence with the typical step of each setting."""
    steps = "; ".join(
        f"{result.setting.name}: {format_amount('step', step.value)}" for result, step in _list_rows(found)
    )
    return f"Typical step by setting: {steps}."
