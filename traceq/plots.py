"""The charts of a report, each a function that returns a matplotlib figure.

    from traceq import plots

    report = traceq.open("profile.duckdb").report()
    plots.step_ledger(report).savefig("ledger.png")

`trace` is a trace_id, and may be left out of a report on a single trace. All raise ValueError when the report has nothing
to draw, or no such trace. As the last line of a notebook's cell a figure shows itself; pyplot has no part in it.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from traceq.report_view import ReportView
    from traceq.reports.report import Report, TraceReport

__all__ = (
    "communication",
    "copies",
    "gaps",
    "memory",
    "occupancy",
    "ranks",
    "roofline",
    "step_ledger",
    "step_times",
)


def step_ledger(report: ReportView, trace: int | None = None) -> Figure:
    """Where the time of each counted step went on the busiest GPU, stacked by category."""
    return _drawn("step_ledger", _chosen(report, trace), "no GPU activity in counted steps")


def step_times(report: ReportView, trace: int | None = None) -> Figure:
    """How long the counted steps take, and how much that varies."""
    return _drawn("step_times", _chosen(report, trace), "too few steps to compare")


def gaps(report: ReportView, trace: int | None = None) -> Figure:
    """The gaps in which nothing runs on a GPU, by size."""
    return _drawn("gaps", _chosen(report, trace), "no gaps, or no GPU activity")


def copies(report: ReportView, trace: int | None = None) -> Figure:
    """Copies by category: the time that hides behind other work, and the time that does not."""
    return _drawn(
        "copies", _chosen(report, trace), "no copies in counted steps, or all of one kind and hidden or exposed alike"
    )


def communication(report: ReportView, trace: int | None = None) -> Figure:
    """Communication: the time that hides behind compute, and the time that does not."""
    missing = "no communication in counted steps, or all of it hidden or exposed alike"
    return _drawn("communication", _chosen(report, trace), missing)


def occupancy(report: ReportView, trace: int | None = None) -> Figure:
    """The time of compute kernels by their estimated occupancy."""
    return _drawn(
        "occupancy", _chosen(report, trace), "no kernels whose occupancy can be estimated, or all in one class"
    )


def roofline(report: ReportView, trace: int | None = None) -> Figure:
    """What operators reach of the GPU's peak and of its memory's bandwidth."""
    return _drawn("roofline", _chosen(report, trace), "no operators of known cost, or a GPU of unknown peak")


def memory(report: ReportView, trace: int | None = None) -> Figure:
    """Memory allocated on the GPU over the counted steps."""
    return _drawn("memory", _chosen(report, trace), "no record of memory")


def ranks(report: ReportView) -> Figure:
    """The ranks of a job side by side: a bar of the ledger for each."""
    return _drawn("ranks", report.content, "no several ranks with GPU activity")


def _chosen(report: ReportView, trace: int | None) -> TraceReport:
    held = {each.trace.trace_id: each for each in report.content.traces}
    if not held:
        raise ValueError("the report is on a database without traces; ingest one")
    if trace is None and len(held) == 1:
        return next(iter(held.values()))
    if trace in held:
        return held[trace]
    known = ", ".join(map(str, held))
    if trace is None:
        raise ValueError(f"the report is on several traces: say trace=ID, one of {known}")
    raise ValueError(f"no trace {trace} in the report; there are {known}")


def _drawn(chart: str, content: Report | TraceReport, missing: str) -> Figure:
    """The figure of traceq/reports/charts/`chart`.py."""
    module: Any = import_module(f"traceq.reports.charts.{chart}")
    if not module.applies(content):
        raise ValueError(f"nothing to draw for {chart}: {missing}")
    figure: Figure = getattr(module, chart)(content)
    # Notebooks learn to show figures when pyplot is imported, which these do without.
    figure._repr_png_ = partial(_shown, figure, module.alt(content))  # type: ignore[attr-defined]
    return figure


def _shown(figure: Figure, alt: str) -> tuple[bytes, dict[str, Any]]:
    """The picture, and what a notebook should know of it: its size on the screen, and what it shows in words."""
    from traceq.reports.charts.png import png

    width, height = map(round, figure.get_size_inches() * figure.dpi)
    return png(figure), {"width": width, "height": height, "alt": alt}
