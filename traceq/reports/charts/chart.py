"""A chart of a report: the functions that draw and describe it, and its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, NamedTuple, TypeVar

from traceq.reports.document import ChartPoints
from traceq.reports.drawing import Drawing
from traceq.reports.model import Job, TraceReport

T = TypeVar("T", TraceReport, Job)

# Where a report has room for charts: after its first sentences, and in these sections.
Place = Literal[
    "headline", "steps", "gaps", "copies", "communication", "kernels", "operators", "data", "memory", "snapshot", "run"
]


class Chart(NamedTuple, Generic[T]):
    """A chart of one trace, or of several ranks as one job: its name, its place in the report, and its functions.

    `place` is None for charts of jobs. `has_data` tells whether it can be drawn, `describe` returns it in words, `missing` is
    the phrase for a report without data for it. `queries` are the sections of the report whose numbers only the chart shows;
    `list_points` returns a table of the dots, where there are some to ask.
    """

    name: str
    place: Place | None
    draw: Callable[[T], Drawing]
    has_data: Callable[[T], bool]
    describe: Callable[[T], str]
    missing: str = ""
    queries: tuple[str, ...] = ()
    list_points: Callable[[T], ChartPoints] | None = None
