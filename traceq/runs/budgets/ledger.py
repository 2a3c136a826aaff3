"""Budgets of the ledger: what a category, or several, may take of the mean step of the critical device."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from traceq.runs.budgets.budget import SHARE, Budget, Judged, Measured
from traceq.runs.budgets.known import SUMS
from traceq.runs.budgets.steps import no_steps
from traceq.runs.budgets.verdict import cannot, judged, reproduced
from traceq.runs.compare.side import step_ns
from traceq.runs.run import Run


def ledger(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """The time per counted step; every run counts the same."""
    runs = [one.run for one in measured]
    reason = no_steps(measured)
    if budget.unit == SHARE and all(run.is_whole_trace for run in runs):
        reason = ""  # of a whole trace there are shares
    without = next((run for run in runs if not any(step.ledger for step in run.counted)), None)
    if not reason and without is not None:
        reason = f"{without.file} has no GPU ledger: no GPU work was recorded in its steps"
    mean = Fraction(0) if reason else step_ns(runs, "mean")
    if reason or not mean:
        return cannot(budget, reason or "steps have no duration")
    categories = SUMS.get(budget.name, (budget.name,))
    time = sum((_per_step(run, categories) for run in runs), Fraction(0)) / len(runs)
    return judged(
        budget, time / mean if budget.unit == SHARE else time, query=reproduced(measured, "analysis/ledger/ledger.sql")
    )


def _per_step(run: Run, categories: Sequence[str]) -> Fraction:
    held = sum(step.ledger.get(category, 0) for step in run.counted for category in categories)
    return Fraction(held, len(run.counted))
