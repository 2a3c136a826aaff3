"""The charts of the report, each where it has something to show. All they say stands in words or tables too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from traceq.reports.charts import CHARTS, ranks
from traceq.reports.document import Picture

if TYPE_CHECKING:
    from traceq.reports.report import Report, TraceReport

_CHARTS = {chart.name: chart for chart in CHARTS}


def picture(report: TraceReport, name: str) -> Iterator[Picture]:
    """The chart of that name in CHARTS; nothing where it has nothing to show."""
    chart = _CHARTS[name]
    if chart.applies(report):
        yield Picture(f"t{report.trace.trace_id}-{name}", chart.alt(report), partial(chart.draw, report))


def ranks_picture(report: Report) -> Iterator[Picture]:
    """The traces beside each other."""
    if ranks.applies(report):
        yield Picture("ranks", ranks.alt(report), partial(ranks.ranks, report))
