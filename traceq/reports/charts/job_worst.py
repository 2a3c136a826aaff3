"""The collective that a rank came to latest, on all its ranks: who worked until when, and who waited how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traceq.common.units import duration, short_size
from traceq.reports.charts.chart import ChartOfJob
from traceq.reports.charts.sheet import bar, caption, few_ticks, inches, sheet, styled, unit_of_time
from traceq.reports.model import Job, WorstArrival

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of more ranks those that came last, and the one that came first.
_MOST_ROWS = 16
_LEGEND = [("usual work", "own time"), ("wait", "waiting for others"), ("transfer", "transfer")]
# Inches.
_ROW = 0.3
_APART = 0.12


def applies(job: Job) -> bool:
    """Whether a rank was clearly late once."""
    return len(job.worst) > 1


@styled
def job_worst(job: Job) -> Figure:
    """A bar for each rank on one clock, which is 0 where the collective ends on all of them."""
    rows = _shown(job.worst)
    longest = max(each.own + each.wait + each.transfer for each in rows)
    unit = unit_of_time(longest)
    names = [f"rank {each.rank}" for each in rows]
    left = max(map(inches, names)) + 2 * _APART
    figure, axes = sheet(height=len(rows) * _ROW + 0.75, left=left, legend=_LEGEND)
    for number, each in enumerate(rows):
        start = -float(each.own + each.wait + each.transfer)
        for kind, ns in (("usual work", each.own), ("wait", each.wait), ("transfer", each.transfer)):
            if ns:
                bar(axes, number, start / unit.size, ns / unit.size, kind)
            start += ns
    axes.set_xlim(-longest / unit.size, 0)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), names)
    few_ticks(axes.xaxis)
    caption(figure, f"the {_called(rows[0])} that a rank came to latest, until its end ({unit.name})")
    return figure


def _shown(ranks: Sequence[WorstArrival]) -> list[WorstArrival]:
    if len(ranks) <= _MOST_ROWS:
        return list(ranks)
    by_wait = sorted(ranks, key=lambda each: (each.wait, each.rank))
    return [*by_wait[: _MOST_ROWS - 1], by_wait[-1]]


def _called(each: WorstArrival) -> str:
    op = each.op.replace("_", "-")
    return op if each.bytes is None else f"{op} of {short_size(each.bytes)}"


def alt(job: Job) -> str:
    """Who came last, and how long the first one waited."""
    last = min(job.worst, key=lambda each: each.wait)
    first = max(job.worst, key=lambda each: each.wait)
    return (
        f"The {_called(last)} that a rank came to latest: rank {last.rank} worked {duration(last.own)} before it,"
        f" rank {first.rank} {duration(first.own)} and then waited {duration(first.wait)}"
        f" for a transfer of {duration(last.transfer)}."
    )


CHART = ChartOfJob("worst", job_worst, applies, alt, "nobody was clearly late")
