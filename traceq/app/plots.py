"""The charts of a report, each a function that returns a matplotlib figure: those of traceq.reports.charts, and `ranks`.

    from traceq import plots

    report = traceq.open("profile.duckdb").report()
    plots.step_ledger(report).savefig("ledger.png")

They need the extra `plots`. `trace` is a trace_id, and may be left out of a report on a single trace. All raise ValueError
when the report has nothing to draw, or no such trace, MissingTool without matplotlib. As the last line of a notebook's cell
a figure shows itself; pyplot has no part in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from traceq.app.report import ReportView
from traceq.reports.charts import CHARTS
from traceq.reports.charts import ranks as _ranks
from traceq.reports.charts.chart import Chart
from traceq.reports.drawing import Drawing
from traceq.reports.model import TraceReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHARTS = {chart.name.replace("-", "_"): chart for chart in CHARTS}

__all__ = ("ranks", *_CHARTS)  # noqa: PLE0604 - they are strings


def __getattr__(name: str) -> Callable[..., Figure]:
    if name not in _CHARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    plot = partial(_plot, _CHARTS[name])
    plot.__doc__ = _CHARTS[name].draw.__doc__
    return plot


def __dir__() -> list[str]:
    return sorted(__all__)


def _plot(chart: Chart[TraceReport], report: ReportView, trace: int | None = None) -> Figure:
    """Draw the chart of one trace of the report; `trace` is its trace_id.

    Raises ValueError if there is nothing to draw.
    """
    chosen = _choose_trace(report, trace)
    if not chart.has_data(chosen):
        raise ValueError(f"nothing to draw for {chart.name.replace('-', '_')}: {chart.missing}")
    return _make_figure(chart.draw(chosen), chart.describe(chosen))


def ranks(report: ReportView) -> Figure:
    """Draw the ranks of a job side by side: a bar of the ledger for each."""
    if not _ranks.has_data(report.content):
        raise ValueError("nothing to draw for ranks: fewer than two ranks have GPU activity")
    return _make_figure(_ranks.draw(report.content), _ranks.describe(report.content))


def _choose_trace(report: ReportView, trace: int | None) -> TraceReport:
    """Return the report's trace with that trace_id; None means the only one. Raises ValueError otherwise."""
    by_id = {chosen.trace.trace_id: chosen for chosen in report.content.traces}
    if not by_id:
        raise ValueError("the report is on a database without traces; ingest one")
    if trace is None and len(by_id) == 1:
        return next(iter(by_id.values()))
    if trace in by_id:
        return by_id[trace]
    known = ", ".join(map(str, by_id))
    if trace is None:
        raise ValueError(f"the report is on several traces: give trace=ID, one of {known}")
    raise ValueError(f"no trace {trace} in the report; there are {known}")


def _make_figure(drawing: Drawing, words: str) -> Figure:
    """Return the drawing as a matplotlib figure that notebooks show without pyplot; `words` describe it for blind readers."""
    from traceq.reports.charts.figure import draw_figure, save_png

    figure = draw_figure(drawing)

    def show() -> tuple[bytes, dict[str, Any]]:
        """Return the picture, and its size on the screen and its words for the notebook."""
        width, height = map(round, figure.get_size_inches() * figure.dpi)
        return save_png(figure), {"width": width, "height": height, "alt": words}

    figure._repr_png_ = show  # type: ignore[attr-defined]
    return figure
