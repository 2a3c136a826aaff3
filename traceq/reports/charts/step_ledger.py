"""Where the time of each counted step went on the device that findings are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.analysis.categories import label
from traceq.common.units import count, duration, share
from traceq.reports.charts.bars import bars
from traceq.reports.charts.chart import Chart
from traceq.reports.charts.sheet import styled
from traceq.reports.charts.stack import Column, legend, parts_of, stack, told_apart
from traceq.reports.document import BarRow
from traceq.reports.model import TraceReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 4


def applies(report: TraceReport) -> bool:
    """Whether any counted step has a ledger."""
    return any(step.dur for step in report.step_ledgers)


@styled
def step_ledger(report: TraceReport) -> Figure:
    """Stacked categories over the steps, of a single step as one bar."""
    columns = _columns(report)
    if len(columns) > 1:
        return stack("where the time went on the GPU, by step", columns, "steps")
    kinds = parts_of(columns)
    column = told_apart(columns[0], kinds)
    row = BarRow("", tuple(column.parts.items()), duration(column.total))
    return bars(f"where the time of {_single(report)} went on the GPU", [row], legend([column], kinds))


def alt(report: TraceReport) -> str:
    """What the picture shows, with the largest categories."""
    columns = _columns(report)
    total = sum(column.total for column in columns)
    kinds = {kind for column in columns for kind in column.parts}
    sums = {kind: sum(column.parts.get(kind, 0) for column in columns) for kind in kinds}
    largest = sorted(sums.items(), key=lambda part: (-part[1], part[0]))
    named = ", ".join(f"{label(kind)} {share(dur / total)}" for kind, dur in largest[:_NAMED])
    others = ", the rest other categories" if len(largest) > _NAMED else ""
    if len(columns) == 1:
        return f"Where the {duration(total)} of {_single(report)} went on the GPU: {named}{others}."
    longest = max(columns, key=lambda column: column.total)
    return (
        f"Where the time of {count(len(columns))} steps went on the GPU, {duration(total / len(columns))} each on average:"
        f" {named}{others}. The longest is step {longest.label} with {duration(longest.total)}."
    )


def _single(report: TraceReport) -> str:
    return "the window" if report.steps.is_window else f"step {report.step_ledgers[0].step}"


def _columns(report: TraceReport) -> list[Column]:
    return [Column(str(step.step), {kind: float(dur) for kind, dur in step.parts}) for step in report.step_ledgers]


CHART = Chart("step-ledger", "headline", step_ledger, applies, alt, "no GPU activity in counted steps")
