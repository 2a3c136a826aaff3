"""How long each rank of a pipeline works by itself: a row a stage, a column a copy of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.common.units import count, duration
from traceq.reports.charts.chart import ChartOfJob
from traceq.reports.charts.palette import colour
from traceq.reports.charts.sheet import caption, few_ticks, sheet, styled
from traceq.reports.model import Job, JobRank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 64
_FEWEST = 2
_OPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
_SIDE = 0.94
# Inches.
_ROW = 0.26
_LEFT = 0.9

# (stage, copy of the model) -> own time of all steps, ns; of several ranks that of the one with most.
_Cells = dict[tuple[int, int], int]


def applies(job: Job) -> bool:
    """Whether there are several stages and several copies of each."""
    if job.dur_ns is None or any(each.stage is None or each.dp is None or each.own_ns is None for each in job.members):
        return False
    cells = _cells(job)
    return all(_FEWEST <= len(set(numbers)) <= _MOST for numbers in zip(*cells, strict=True))


@styled
def job_grid(job: Job) -> Figure:
    """The darker a cell, the more its rank works by itself, between the least and the most of all."""
    cells = _cells(job)
    stages, copies = (sorted(set(numbers)) for numbers in zip(*cells, strict=True))
    figure, axes = sheet(height=len(stages) * _ROW + 0.7, left=_LEFT)
    least, most = min(cells.values()), max(cells.values())
    for (stage, copy), own in cells.items():
        axes.barh(
            stages.index(stage),
            _SIDE,
            _SIDE,
            copies.index(copy) - _SIDE / 2,
            color=colour("usual work"),
            alpha=_OPACITIES[_level(own, least, most)],
            label="usual work",
        )
    axes.set_xlim(-0.5, len(copies) - 0.5)
    axes.set_ylim(len(stages) - 0.5, -0.5)
    axes.set_yticks(range(len(stages)), [f"stage {each}" for each in stages])
    few_ticks(axes.xaxis, whole=True)
    low, high = duration(least / job.steps), duration(most / job.steps)
    caption(figure, f"own time per step, {low} (light) to {high} (dark), by copy of the model")
    return figure


def _cells(job: Job) -> _Cells:
    cells: _Cells = {}
    for each in job.members:
        place = (each.stage or 0, each.dp or 0)
        cells[place] = max(cells.get(place, 0), each.own_ns or 0)
    return cells


def _level(own: int, least: int, most: int) -> int:
    return min(int((own - least) / (most - least) * len(_OPACITIES)), len(_OPACITIES) - 1) if most > least else 0


def alt(job: Job) -> str:
    """The ranks that work most and least by themselves."""
    most = max(job.members, key=lambda each: each.own_ns or 0)
    least = min(job.members, key=lambda each: each.own_ns or 0)
    return (
        f"Own time of {count(len(job.members))} ranks per step, by stage and copy of the model: most on {_place(most, job)},"
        f" least on {_place(least, job)}."
    )


def _place(rank: JobRank, job: Job) -> str:
    return f"stage {rank.stage}, copy {rank.dp} ({duration((rank.own_ns or 0) / job.steps)})"


CHART = ChartOfJob("grid", job_grid, applies, alt, "there is one stage, or one copy of each, or it is not known which")
