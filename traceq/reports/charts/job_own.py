"""Of each rank of a job: usual work, what is beyond that, transfers, and waiting for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.common.units import count, duration
from traceq.reports.charts.bars import bars
from traceq.reports.charts.chart import ChartOfJob
from traceq.reports.charts.sheet import styled
from traceq.reports.charts.stack import Column, stack
from traceq.reports.document import BarRow
from traceq.reports.model import Job, JobRank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_BARS = 12
_LEGEND = {
    "usual work": "usual work",
    "late ranks": "beyond the usual",
    "transfer": "transfer",
    "wait": "waiting for others",
}


def applies(job: Job) -> bool:
    """Whether the job was judged."""
    return job.dur_ns is not None and all(each.own_ns is not None for each in job.members)


@styled
def job_own(job: Job) -> Figure:
    """A stacked bar for each rank, of many a column."""
    title = "time of each rank by itself, in transfers and waiting, per step"
    if len(job.members) > _MOST_BARS:
        columns = [Column(str(each.rank), _parts(each, job)) for each in job.members]
        return stack(title, columns, "ranks")
    rows = [BarRow(f"rank {each.rank}", tuple(_parts(each, job).items()), _said(each, job)) for each in job.members]
    return bars(title, rows, list(_LEGEND.items()))


def _parts(each: JobRank, job: Job) -> dict[str, float]:
    late = min(each.late_ns or 0, each.own_ns or 0)
    whole = {
        "usual work": (each.own_ns or 0) - late,
        "late ranks": late,
        "transfer": each.transfer_ns or 0,
        "wait": each.wait_ns or 0,
    }
    return {kind: ns / job.steps for kind, ns in whole.items()}


def _said(each: JobRank, job: Job) -> str:
    return f"waits {duration((each.wait_ns or 0) / job.steps)}"


def alt(job: Job) -> str:
    """The ranks that wait most and least."""
    most = max(job.members, key=lambda each: each.wait_ns or 0)
    least = min(job.members, key=lambda each: each.wait_ns or 0)
    waits = [duration((each.wait_ns or 0) / job.steps) for each in (most, least)]
    return (
        f"What each of {count(len(job.members))} ranks does by itself, transfers and waits for, per step: rank {most.rank} waits"
        f" most, {waits[0]}, rank {least.rank} least, {waits[1]}."
    )


CHART = ChartOfJob("own", job_own, applies, alt, "it could not be judged")
