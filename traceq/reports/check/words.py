"""Words about budgets that all formats of a check share: what each is called, its limit, its number."""

from __future__ import annotations

from fractions import Fraction

from traceq.common.units import change_share, count, duration, rate, share, size, some
from traceq.runs.budgets.budget import BYTES, NANOSECONDS, PER_SECOND, SHARE, TIMES, Budget, Check, JudgedBudget

ABSENT = "absent"
_SMALLEST, _LARGEST = 1e-6, 1e15

# What is called by something else than its table.
_CALLED = {"findings": "finding", "compare": "regression against", "history": "history of"}


def name_budget(budget: Budget) -> str:
    """Return the budget's name as reports show it: its table's name in words and its own, "step p95"."""
    return f"{_CALLED.get(budget.table, budget.table)} {budget.name}"


def describe_limits(budget: Budget) -> str:
    """Return the budget's limits as text, "at least 2 and at most 5"; "no regression" and the like if it has no numbers."""
    said = [f"{limit.bound} {format_amount(limit.amount, limit.unit)}" for limit in budget.limits]
    return " and ".join(said) or (ABSENT if budget.table in ("findings", "job") else "no regression")


def format_measured(judged: JudgedBudget) -> str:
    """Return the measured number as text with its unit; "-" if there is none, "none" for no saving of a finding.

    A number that fails is exact if it would otherwise read like the limit.
    """
    if judged.measured is None:
        return "-"
    unit = judged.budget.unit
    if judged.budget.table == "findings" and not judged.measured:
        return "none"
    if judged.budget.table in ("compare", "history"):
        return change_share(float(judged.measured))
    said = format_amount(judged.measured, unit)
    if judged.state == "fail" and any(
        said == format_amount(limit.amount, limit.unit) for limit in judged.budget.limits
    ):
        return _format_exactly(judged.measured, unit)
    return said


def format_amount(value: Fraction, unit: str) -> str:
    """Return an amount as text with its unit: ns, bytes and shares in a readable unit ("1.5 ms", "3.2 %"), others as they are."""
    if unit == NANOSECONDS:
        return duration(int(value) if value.denominator == 1 else float(value))
    if unit == SHARE:
        return share(float(value))
    if unit == BYTES:
        return size(round(value)) if value >= 0 else f"-{size(-round(value))}"
    if unit == PER_SECOND:
        return f"{_format_number(value)}/s"
    if unit == TIMES:
        return f"{_format_number(value)}x"
    return f"{_format_number(value)} {unit}".rstrip()


def _format_number(value: Fraction) -> str:
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        return f"{_to_float(value):.4g}"
    return count(int(value)) if value.denominator == 1 else rate(_to_float(value))


def _to_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _format_exactly(value: Fraction, unit: str) -> str:
    if unit == NANOSECONDS:
        return f"{_to_float(value):,.0f} ns" if value.denominator == 1 else f"{_to_float(value):,.3f} ns"
    if unit == SHARE:
        return f"{100 * _to_float(value):.9g} %"
    return f"{_to_float(value):.15g} {'/s' if unit == PER_SECOND else unit}".rstrip()


def outcome_sentence(check: Check) -> str:
    """Return the outcome of the whole check as a sentence: how many budgets fail or cannot be judged, or that all are kept."""
    total = len(check.judged)
    failed, unclear = check.number("fail"), check.number("cannot judge")
    budgets = some(total, "budget")
    said = [f"{count(failed)} of {budgets} fail{'s' if failed == 1 else ''}"] if failed else []
    if unclear:
        said.append(f"{count(unclear)} {'' if failed else f'of {budgets} '}cannot be judged")
    beginning = {"fail": "Failed", "cannot judge": "Cannot be judged", "pass": "Passed"}[check.state]
    return f"{beginning}: {', '.join(said) or f'{budgets} kept'}."


def explain_result(judged: JudgedBudget) -> str:
    """Return why a budget failed or cannot be judged, without a period; "" if the numbers say it all."""
    if judged.state == "fail" and judged.budget.table == "findings" and not judged.budget.limits:
        return f"found: {judged.reason}"
    return judged.reason
