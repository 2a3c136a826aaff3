"""The budget of a comparison with a baseline: how much longer than it the step may take."""

from __future__ import annotations

from fractions import Fraction

from traceq.common.units import change_share, per_cent, share
from traceq.runs.budgets.budget import Budget, JudgedBudget
from traceq.runs.budgets.judge import cannot_judge
from traceq.runs.compare.comparison import Change, Comparison


def judge_regression(budget: Budget, comparison: Comparison | None, *, fail_on_likely: bool = False) -> JudgedBudget:
    """Judge the comparison with a baseline: without a limit every regression fails, with one a regression above the limit.

    A likely regression fails with `fail_on_likely`. Without it, and for a verdict `cannot tell`, the result is `cannot
    judge`; so it is where the change may be above the limit.
    """
    if comparison is None:
        return cannot_judge(budget, "no baseline is given: use --baseline NAME, or baseline in the table [compare]")
    change = comparison.change
    reason = "; ".join(comparison.obstacles or comparison.reasons)
    if comparison.verdict == "cannot tell" or change is None or not change.base_ns:
        return cannot_judge(budget, reason)
    measured = Fraction(change.delta_ns, change.base_ns)
    if comparison.verdict == "likely regression" and not fail_on_likely:
        return cannot_judge(
            budget, f"a likely regression, at which --fail-on-likely fails: {reason}", measured=measured
        )
    is_regression = comparison.verdict in ("regression", "likely regression")
    is_kept = all(limit.holds(measured) for limit in budget.limits)
    if not budget.limits or (is_regression and not is_kept):
        return JudgedBudget(budget, "fail" if is_regression else "pass", measured, reason)
    return _judge_within(budget, comparison, change, reason)


def _judge_within(budget: Budget, comparison: Comparison, change: Change, reason: str) -> JudgedBudget:
    """Return a pass if the whole confidence interval of the change is within the limit, else `cannot judge`."""
    measured = Fraction(change.delta_ns, change.base_ns)
    if change.interval_ns is None:
        return cannot_judge(budget, reason, measured=measured)
    highest = Fraction(change.interval_ns[1], change.base_ns)
    # The interval need not hold what was measured.
    if all(limit.holds(max(measured, highest)) for limit in budget.limits):
        return JudgedBudget(budget, "pass", measured, reason)
    allowed = " and ".join(share(float(limit.amount)) for limit in budget.limits)
    return cannot_judge(
        budget,
        f"measured {change_share(float(measured))}, and the steps do not rule out {change_share(float(highest))}"
        f" ({per_cent(1 - comparison.level)} interval), but only {allowed} is allowed: capture more steps, or"
        " several runs",
        measured=measured,
    )
