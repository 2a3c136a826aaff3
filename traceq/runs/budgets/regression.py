"""The budget of a comparison with a baseline: how much longer than it the step may take."""

from __future__ import annotations

from fractions import Fraction

from traceq.common.units import change_share, per_cent, share
from traceq.runs.budgets.budget import Budget, Judged
from traceq.runs.budgets.verdict import cannot
from traceq.runs.compare.comparison import Comparison


def regression(budget: Budget, comparison: Comparison | None) -> Judged:
    """Without a limit every regression fails; with one, those measured above it.

    With a limit nothing passes of which the steps do not exclude that it is above: the interval must end at the limit or
    below. Nor can be judged what the comparison cannot tell.
    """
    if comparison is None:
        return cannot(budget, "no baseline is named: say --baseline NAME, or baseline in the table [compare]")
    change = comparison.change
    reason = "; ".join(comparison.obstacles or comparison.reasons)
    if comparison.verdict == "cannot tell" or change is None or not change.base_ns or change.interval_ns is None:
        return cannot(budget, reason)
    measured, highest = (Fraction(ns, change.base_ns) for ns in (change.delta_ns, change.interval_ns[1]))
    is_regression = comparison.verdict == "regression"
    if not budget.limits:
        return Judged(budget, "fail" if is_regression else "pass", measured, reason)
    if is_regression and not all(limit.holds(measured) for limit in budget.limits):
        return Judged(budget, "fail", measured, reason)
    # The interval need not hold what was measured.
    if all(limit.holds(max(measured, highest)) for limit in budget.limits):
        return Judged(budget, "pass", measured, reason)
    return cannot(
        budget,
        f"measured {change_share(float(measured))}, and the steps do not exclude {change_share(float(highest))}"
        f" ({per_cent(1 - comparison.level)} interval), where {_allowed(budget)} is allowed: capture more of them, or"
        " several runs",
        measured=measured,
    )


def _allowed(budget: Budget) -> str:
    return " and ".join(share(float(limit.amount)) for limit in budget.limits)
