"""The budget of a comparison with a baseline: how much longer than it the step may take."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from traceq.budgets.budget import Budget, Judged
from traceq.budgets.verdict import cannot

if TYPE_CHECKING:
    from traceq.comparisons.comparison import Comparison


def regression(budget: Budget, comparison: Comparison | None) -> Judged:
    """Without a limit every regression fails. With one, those that are measured above it.

    A regression below it, of which the steps cannot say that it is, cannot be judged; nor what the comparison cannot tell.
    """
    if comparison is None:
        return cannot(budget, "no baseline is named: say --baseline NAME, or baseline in the table [compare]")
    change = comparison.change
    reason = "; ".join(comparison.obstacles or comparison.reasons)
    if comparison.verdict == "cannot tell" or change is None or not change.base_ns:
        return cannot(budget, reason)
    measured = Fraction(change.delta_ns, change.base_ns)
    if comparison.verdict != "regression":
        return Judged(budget, "pass", measured, reason)
    if not all(limit.holds(measured) for limit in budget.limits) or not budget.limits:
        return Judged(budget, "fail", measured, reason)
    highest = None if change.interval_ns is None else Fraction(change.interval_ns[1], change.base_ns)
    if highest is not None and all(limit.holds(highest) for limit in budget.limits):
        return Judged(budget, "pass", measured, reason)
    return cannot(
        budget,
        "slower by less than the limit, but the steps do not exclude more: capture more of them, or several runs",
        measured=measured,
    )
