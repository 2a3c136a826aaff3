"""The charts of a report, each a function that returns a matplotlib figure: those of traceq.reports.charts, and `ranks`.

    from traceq import plots

    report = traceq.open("profile.duckdb").report()
    plots.step_ledger(report).savefig("ledger.png")

`trace` is a trace_id, and may be left out of a report on a single trace. All raise ValueError when the report has nothing
to draw, or no such trace. As the last line of a notebook's cell a figure shows itself; pyplot has no part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from traceq.app.report import ReportView
from traceq.reports.charts import CHARTS
from traceq.reports.charts import ranks as _ranks
from traceq.reports.charts.chart import Chart
from traceq.reports.model import TraceReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = {chart.name.replace("-", "_"): chart for chart in CHARTS}

__all__ = ("ranks", *_NAMED)  # noqa: PLE0604 - they are strings


def __getattr__(name: str) -> Callable[..., Figure]:
    if name not in _NAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    plot = partial(_plot, _NAMED[name])
    plot.__doc__ = _NAMED[name].draw.__doc__
    return plot


def __dir__() -> list[str]:
    return sorted(__all__)


def _plot(chart: Chart, report: ReportView, trace: int | None = None) -> Figure:
    chosen = _chosen(report, trace)
    if not chart.applies(chosen):
        raise ValueError(f"nothing to draw for {chart.name.replace('-', '_')}: {chart.missing}")
    return _showing_itself(chart.draw(chosen), chart.alt(chosen))


def ranks(report: ReportView) -> Figure:
    """The ranks of a job side by side: a bar of the ledger for each."""
    if not _ranks.applies(report.content):
        raise ValueError("nothing to draw for ranks: no several ranks with GPU activity")
    return _showing_itself(_ranks.ranks(report.content), _ranks.alt(report.content))


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


def _showing_itself(figure: Figure, alt: str) -> Figure:
    # Notebooks learn to show figures when pyplot is imported, which these do without.
    figure._repr_png_ = partial(_shown, figure, alt)  # type: ignore[attr-defined]
    return figure


def _shown(figure: Figure, alt: str) -> tuple[bytes, dict[str, Any]]:
    """The picture, and what a notebook should know of it: its size on the screen, and what it shows in words."""
    from traceq.reports.charts.files import png

    width, height = map(round, figure.get_size_inches() * figure.dpi)
    return png(figure), {"width": width, "height": height, "alt": alt}
