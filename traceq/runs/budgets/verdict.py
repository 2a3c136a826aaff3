"""How a budget ends, and the SQL that gives its number again."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from traceq.database.query import Setting, literal
from traceq.database.sql import statement
from traceq.runs.budgets.budget import Budget, Judged, Measured, State


def judged(budget: Budget, measured: Fraction, *, reason: str = "", query: str | None = None) -> Judged:
    """Pass or fail, by the limits."""
    state: State = "pass" if all(limit.holds(measured) for limit in budget.limits) else "fail"
    return Judged(budget, state, measured, reason, query)


def cannot(budget: Budget, reason: str, *, measured: Fraction | None = None, query: str | None = None) -> Judged:
    """Neither."""
    return Judged(budget, "cannot judge", measured, reason, query)


def reproduced(measured: Sequence[Measured], name: str, **values: Setting) -> str | None:
    """The query traceq/`name` for the one run; None where several are pooled, or the run has no database."""
    if len(measured) != 1 or measured[0].trace_id is None:
        return None
    return literal(statement(name), trace_id=measured[0].trace_id, **values)
