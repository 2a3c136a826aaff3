"""When each rank of a job worked longer than the usual one: a row a rank, a column a step, or a collective of a single step."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from traceq.common.units import count, duration
from traceq.reports.charts.chart import ChartOfJob
from traceq.reports.charts.palette import colour
from traceq.reports.charts.sheet import caption, few_ticks, inches, sheet, styled
from traceq.reports.model import Job, Lateness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of more ranks each host has a row, and where hosts are not known the ranks that are late most.
_MOST_ROWS = 64
_FEW = 12
_OPACITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
_HIGH = 0.9
# Inches.
_ROW, _LOW_ROW = 0.26, 0.11
_APART = 0.12

# Name of the row -> for each column how much longer than usual it worked, ns.
_Rows = dict[str, list[int]]


def applies(job: Job) -> bool:
    """Whether any rank worked longer than usual in one of several columns."""
    return bool(job.lateness) and job.lateness[0].places > 1


@styled
def job_late(job: Job) -> Figure:
    """The darker a cell, the further the rank's own time is beyond the usual, against the furthest of any rank."""
    rows = _rows(job)
    most = max(max(row) for row in rows.values())
    left = max(inches(name) for name in rows) + 2 * _APART
    high = len(rows) * (_ROW if len(rows) <= _FEW else _LOW_ROW)
    figure, axes = sheet(height=high + 0.7, left=left)
    for number, row in enumerate(rows.values()):
        for start, length, level in _runs(row, most):
            axes.barh(
                number, length, _HIGH, start, color=colour("late ranks"), alpha=_OPACITIES[level], label="late ranks"
            )
    axes.set_xlim(0, len(next(iter(rows.values()))))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    every = -(-len(rows) // _FEW)
    shown = list(enumerate(rows))[::every]
    axes.set_yticks([number for number, _ in shown], [name for _, name in shown])
    few_ticks(axes.xaxis, whole=True)
    caption(figure, f"own time beyond the usual by up to {duration(most)} (dark), by {_what(job)} in the order of time")
    return figure


def _what(job: Job) -> str:
    return "step" if job.lateness[0].is_step else "collective"


def _rows(job: Job) -> _Rows:
    hosts = {each.rank: each.host for each in job.members}
    if len(job.members) <= _MOST_ROWS:
        return _filled(job, {each.rank: f"rank {each.rank}" for each in job.members})
    if None not in hosts.values() and len(set(hosts.values())) <= _MOST_ROWS:
        return _filled(job, {rank: f"host {host}" for rank, host in hosts.items()})
    late = {each.rank: 0 for each in job.members}
    for each in job.lateness:
        late[each.rank] += each.late_by
    latest = sorted(sorted(late, key=lambda rank: -late[rank])[:_MOST_ROWS])
    return _filled(job, {rank: f"rank {rank}" for rank in latest})


def _filled(job: Job, names: dict[int, str]) -> _Rows:
    rows: _Rows = {name: [0] * job.lateness[0].places for name in names.values()}
    for each in job.lateness:
        if each.rank in names:
            row = rows[names[each.rank]]
            row[each.place] = max(row[each.place], each.late_by)
    return rows


def _runs(row: list[int], most: int) -> list[tuple[int, int, int]]:
    """(start, length, level) of neighbouring columns that look alike, without those that were not late."""
    runs = []
    for level, cells in groupby(range(len(row)), key=lambda column: _level(row[column], most)):
        columns = list(cells)
        if level is not None:
            runs.append((columns[0], len(columns), level))
    return runs


def _level(value: int, most: int) -> int | None:
    return min(int(value / most * len(_OPACITIES)), len(_OPACITIES) - 1) if value else None


def alt(job: Job) -> str:
    """Whose own time was most beyond the usual, how often and by how much."""
    late: dict[int, list[Lateness]] = {}
    for each in job.lateness:
        late.setdefault(each.rank, []).append(each)
    rank, times = max(late.items(), key=lambda each: sum(one.late_by for one in each[1]))
    word = _what(job)
    places = job.lateness[0].places
    return (
        f"Own time of each of {count(len(job.members))} ranks beyond the usual, by {word}: rank {rank} most, in"
        f" {count(len(times))} of {count(places)} columns, by {duration(max(one.late_by for one in times))} at most."
    )


CHART = ChartOfJob("late", job_late, applies, alt, "nobody was late, or there is one collective")
