"""How full compute kernels make the GPU, by their launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.reports.charts.bars import bars
from traceq.reports.charts.sheet import styled
from traceq.reports.document import BarRow
from traceq.units import duration, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from traceq.reports.report import TraceReport

_CLASSES = {0: "below 25 %", 1: "25 to 50 %", 2: "50 to 75 %", 3: "75 % and above", None: "not known"}


def applies(report: TraceReport) -> bool:
    """Whether there are kernels of more than one class."""
    return sum(each.dur_ns > 0 for each in report.topics.kernels.occupancy) > 1


@styled
def occupancy(report: TraceReport) -> Figure:
    """Time of kernels per quarter of estimated occupancy, and of those for which it is not known."""
    times = _times(report)
    total = sum(times.values())
    return bars(
        "time of compute kernels by estimated occupancy of the GPU",
        [
            BarRow(
                label,
                (("unknown" if quarter is None else "compute", float(times[quarter])),),
                f"{duration(times[quarter])}, {share(times[quarter] / total)}",
            )
            for quarter, label in _CLASSES.items()
            if quarter in times
        ],
    )


def alt(report: TraceReport) -> str:
    """The share of each class."""
    times = _times(report)
    total = sum(times.values())
    parts = "; ".join(f"{label}: {share(times[key] / total)}" for key, label in _CLASSES.items() if times.get(key))
    return f"Time of compute kernels ({duration(total)}) by estimated occupancy of the GPU: {parts}."


def _times(report: TraceReport) -> dict[int | None, int]:
    """Quarter to ns; all four are there, so that charts can be compared."""
    found = {each.quarter: each.dur_ns for each in report.topics.kernels.occupancy}
    return {**dict.fromkeys(range(4), 0), **found}
