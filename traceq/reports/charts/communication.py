"""How much of the communication compute hides, per device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from traceq.reports.charts.bars import bars
from traceq.reports.charts.sheet import styled
from traceq.reports.document import BarRow
from traceq.units import duration, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from traceq.reports.report import TraceReport
    from traceq.reports.topics import CommunicationTotal

_LISTED = 8
_PARTS = {
    "behind compute": "behind compute",
    "exposed": "exposed",
    "opaque": "CUDA graph: what is in it cannot be seen",
}


def applies(report: TraceReport) -> bool:
    """Whether there is more to see than one device of which all communication is exposed, or none."""
    listed = _listed(report)
    return len(listed) > 1 or any(0 < each.exposed_ns < each.communication_ns for each in listed)


@styled
def communication(report: TraceReport) -> Figure:
    """A bar per device, and one for CUDA graphs that may hold more; of many devices the most exposed."""
    rows = [row for each in _listed(report) for row in _rows(each)]
    drawn = {kind for row in rows for kind, time in row.parts if time}
    return bars(
        "time of communication by what hides it", rows, [(kind, text) for kind, text in _PARTS.items() if kind in drawn]
    )


def alt(report: TraceReport) -> str:
    """Time and exposed share of the most exposed device."""
    listed = _listed(report)
    worst = max(listed, key=lambda each: each.exposed_ns)
    left_out = sum(each.communication_ns > 0 for each in report.topics.communication.totals) - len(listed)
    more = f" Left out are {left_out} GPUs with less exposed communication." if left_out else ""
    opaque = sum(each.opaque_ns for each in listed)
    unseen = f" {duration(opaque)} in CUDA graphs may hold more." if opaque else ""
    return (
        f"Time of communication per GPU, behind compute and exposed. Most exposed: GPU {worst.device},"
        f" {duration(worst.exposed_ns)} of {duration(worst.communication_ns)}"
        f" ({share(worst.exposed_ns / worst.communication_ns)}).{unseen}{more}"
    )


def _listed(report: TraceReport) -> list[CommunicationTotal]:
    totals = [each for each in report.topics.communication.totals if each.communication_ns]
    worst = sorted(totals, key=lambda each: -each.exposed_ns)[:_LISTED]
    return [each for each in totals if each in worst]


def _rows(total: CommunicationTotal) -> Iterator[BarRow]:
    parts = (("behind compute", float(total.overlapped_ns)), ("exposed", float(total.exposed_ns)))
    yield BarRow(f"GPU {total.device}", parts, duration(total.communication_ns))
    if total.opaque_ns:
        # Not a part of the other: communication beside a graph is behind compute.
        yield BarRow(f"GPU {total.device}", (("opaque", float(total.opaque_ns)),), duration(total.opaque_ns))
