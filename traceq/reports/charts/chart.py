"""What a chart is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from traceq.reports.model import Job, TraceReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Where a report has room for charts: after its first sentences, and in these sections.
Place = Literal["headline", "steps", "gaps", "copies", "communication", "kernels", "operators", "data", "memory"]


class Chart(NamedTuple):
    """A chart of one trace; `alt` is the text in its place, `missing` what a report lacks that it does not apply to."""

    name: str
    place: Place
    draw: Callable[[TraceReport], Figure]
    applies: Callable[[TraceReport], bool]
    alt: Callable[[TraceReport], str]
    missing: str


class ChartOfJob(NamedTuple):
    """A chart of several ranks as one job; `alt` is the text in its place, `missing` what a job without it lacks."""

    name: str
    draw: Callable[[Job], Figure]
    applies: Callable[[Job], bool]
    alt: Callable[[Job], str]
    missing: str
