"""How a budget ends."""

from __future__ import annotations

from fractions import Fraction

from traceq.runs.budgets.budget import Budget, Judged, State


def judged(budget: Budget, measured: Fraction, *, reason: str = "", query: str | None = None) -> Judged:
    """Pass or fail, by the limits."""
    state: State = "pass" if all(limit.holds(measured) for limit in budget.limits) else "fail"
    return Judged(budget, state, measured, reason, query)


def cannot(budget: Budget, reason: str, *, measured: Fraction | None = None, query: str | None = None) -> Judged:
    """Neither."""
    return Judged(budget, "cannot judge", measured, reason, query)
