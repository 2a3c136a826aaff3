"""What hides copies, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.reports.charts.bars import bars
from traceq.reports.charts.sheet import styled
from traceq.reports.document import BarRow
from traceq.units import duration, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from traceq.reports.report import TraceReport
    from traceq.reports.topics import CopyTotal

_LISTED = 8
_PARTS = ("behind compute", "behind other work", "exposed")


def applies(report: TraceReport) -> bool:
    """Whether there is more to see than one kind of copies that nothing hides, or all of it."""
    listed = _listed(report)
    return len(listed) > 1 or any(0 < each.exposed_ns < each.busy_ns for each in listed)


@styled
def copies(report: TraceReport) -> Figure:
    """A bar per device and direction; of many the most exposed."""
    several = len({each.device for each in report.topics.copies.totals}) > 1
    rows = [BarRow(_label(each, several=several), _parts(each), duration(each.busy_ns)) for each in _listed(report)]
    return bars(
        "time of copies by what hides them",
        rows,
        [(kind, kind) for kind in _PARTS if any(dict(row.parts)[kind] for row in rows)],
    )


def alt(report: TraceReport) -> str:
    """Time and exposed share of the most exposed."""
    listed = _listed(report)
    worst = max(listed, key=lambda each: each.exposed_ns)
    left_out = sum(each.busy_ns > 0 for each in report.topics.copies.totals) - len(listed)
    more = f" Left out are {left_out} with less exposed time." if left_out else ""
    return (
        f"Time of copies by direction and by what hides them. Most exposed: {_label(worst, several=True)},"
        f" {duration(worst.exposed_ns)} of {duration(worst.busy_ns)} ({share(worst.exposed_ns / worst.busy_ns)}).{more}"
    )


def _listed(report: TraceReport) -> list[CopyTotal]:
    """The most exposed, by device and category as they came."""
    totals = [each for each in report.topics.copies.totals if each.busy_ns]
    worst = sorted(totals, key=lambda each: -each.exposed_ns)[:_LISTED]
    return [each for each in totals if each in worst]


def _label(total: CopyTotal, *, several: bool) -> str:
    return f"GPU {total.device} {total.category}" if several else total.category


def _parts(total: CopyTotal) -> tuple[tuple[str, float], ...]:
    times = (total.overlapped_ns, total.hidden_ns, total.exposed_ns)
    return tuple((kind, float(time)) for kind, time in zip(_PARTS, times, strict=True))
