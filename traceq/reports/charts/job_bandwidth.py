"""How fast collectives of a job move their bytes when nobody is waited for, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.common.units import count, rate, short_size
from traceq.reports.charts.bars import bars
from traceq.reports.charts.chart import ChartOfJob
from traceq.reports.charts.sheet import styled
from traceq.reports.document import BarRow
from traceq.reports.model import Job, JobCollective

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 8
_FEWEST = 2


def applies(job: Job) -> bool:
    """Whether bandwidths of several kinds are known."""
    return len(_known(job)) >= _FEWEST


@styled
def job_bandwidth(job: Job) -> Figure:
    """A bar for each kind, the one that takes most time first."""
    rows = [
        BarRow(_called(each), (("transfer", each.bus_bandwidth or 0.0),), f"{rate(each.bus_bandwidth or 0.0)} GB/s")
        for each in _known(job)
    ]
    return bars("bus bandwidth of transfers, without waiting", rows)


def _known(job: Job) -> list[JobCollective]:
    return [each for each in job.collectives if each.bus_bandwidth is not None][:_MOST]


def _called(each: JobCollective) -> str:
    words = (
        f"{each.op.replace('_', '-')} {'' if each.bytes is None else short_size(each.bytes)}, {count(each.ranks)} ranks"
    )
    return words if each.level is None else f"{words} {each.level}"


def alt(job: Job) -> str:
    """The fastest and the slowest kind."""
    known = sorted(_known(job), key=lambda each: each.bus_bandwidth or 0.0)
    slow, fast = known[0], known[-1]
    return (
        f"Bus bandwidth of {count(len(known))} kinds of collectives without waiting: from {rate(slow.bus_bandwidth or 0.0)} GB/s"
        f" ({_called(slow)}) to {rate(fast.bus_bandwidth or 0.0)} GB/s ({_called(fast)})."
    )


CHART = ChartOfJob("bandwidth", job_bandwidth, applies, alt, "bandwidths of fewer than two kinds are known")
