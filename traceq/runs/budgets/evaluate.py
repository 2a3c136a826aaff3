"""From budgets and runs to what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from traceq.runs.budgets.budget import Budget, Judged, Measured
from traceq.runs.budgets.findings import findings
from traceq.runs.budgets.job import job
from traceq.runs.budgets.sql import sql
from traceq.runs.budgets.steps import ledger, step, throughput

_JUDGES: Mapping[str, Callable[[Budget, Sequence[Measured]], Judged]] = {
    "step": step,
    "throughput": throughput,
    "ledger": ledger,
    "findings": findings,
    "job": job,
    "sql": sql,
}


def evaluate(budgets: Sequence[Budget], measured: Sequence[Measured]) -> tuple[Judged, ...]:
    """What became of every budget but that of a comparison, in their order; there is at least one run."""
    return tuple(_JUDGES[budget.table](budget, measured) for budget in budgets)
