"""The report's charts. Each is a file with three functions: what draws it, applies(), and alt(), which says it in words.

Only drawing needs matplotlib, and imports it; its figures belong to nobody: no pyplot, no window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from traceq.reports.charts import (
    communication,
    copies,
    gaps,
    memory,
    occupancy,
    roofline,
    step_ledger,
    step_times,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from traceq.reports.report import TraceReport


class Chart(NamedTuple):
    """A chart of one trace: its name, who draws it, whether there is something to draw, and the text in its place."""

    name: str
    draw: Callable[[TraceReport], Figure]
    applies: Callable[[TraceReport], bool]
    alt: Callable[[TraceReport], str]


# Of one trace each; ranks.py compares several.
CHARTS = (
    Chart("step-ledger", step_ledger.step_ledger, step_ledger.applies, step_ledger.alt),
    Chart("step-times", step_times.step_times, step_times.applies, step_times.alt),
    Chart("gaps", gaps.gaps, gaps.applies, gaps.alt),
    Chart("copies", copies.copies, copies.applies, copies.alt),
    Chart("communication", communication.communication, communication.applies, communication.alt),
    Chart("occupancy", occupancy.occupancy, occupancy.applies, occupancy.alt),
    Chart("roofline", roofline.roofline, roofline.applies, roofline.alt),
    Chart("memory", memory.memory, memory.applies, memory.alt),
)
