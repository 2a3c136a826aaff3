"""Words about budgets that all formats of a check share: what each is called, its limit, its number."""

from __future__ import annotations

from fractions import Fraction

from traceq.common.units import change_share, count, duration, rate, share, size, some
from traceq.runs.budgets.budget import BYTES, NANOSECONDS, PER_SECOND, SHARE, TIMES, Budget, Check, Judged

ABSENT = "absent"
_SMALLEST, _LARGEST = 1e-6, 1e15

# What is called by something else than its table.
_CALLED = {"findings": "finding", "compare": "regression against"}


def label(budget: Budget) -> str:
    """What the budget is called: step p95."""
    return f"{_CALLED.get(budget.table, budget.table)} {budget.name}"


def limits(budget: Budget) -> str:
    """The limits, one after the other: at least 2 and at most 5."""
    said = [f"{limit.bound} {amount(limit.amount, limit.unit)}" for limit in budget.limits]
    return " and ".join(said) or (ABSENT if budget.table in ("findings", "job") else "no regression")


def measured(judged: Judged) -> str:
    """What was measured; a dash for nothing. It never reads like a limit that it misses."""
    if judged.measured is None:
        return "-"
    unit = judged.budget.unit
    if judged.budget.table == "findings" and not judged.measured:
        return "none"
    if judged.budget.table == "compare":
        return change_share(float(judged.measured))
    said = amount(judged.measured, unit)
    if judged.state == "fail" and any(said == amount(limit.amount, limit.unit) for limit in judged.budget.limits):
        return _exactly(judged.measured, unit)
    return said


def amount(value: Fraction, unit: str) -> str:
    """An amount in its unit."""
    if unit == NANOSECONDS:
        return duration(int(value) if value.denominator == 1 else float(value))
    if unit == SHARE:
        return share(float(value))
    if unit == BYTES:
        return size(round(value)) if value >= 0 else f"-{size(-round(value))}"
    if unit == PER_SECOND:
        return f"{_number(value)}/s"
    if unit == TIMES:
        return f"{_number(value)}x"
    return f"{_number(value)} {unit}".rstrip()


def _number(value: Fraction) -> str:
    if value and not _SMALLEST <= abs(value) < _LARGEST:
        return f"{_double(value):.4g}"
    return count(int(value)) if value.denominator == 1 else rate(_double(value))


def _double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _exactly(value: Fraction, unit: str) -> str:
    if unit == NANOSECONDS:
        return f"{_double(value):,.0f} ns" if value.denominator == 1 else f"{_double(value):,.3f} ns"
    if unit == SHARE:
        return f"{100 * _double(value):.9g} %"
    return f"{_double(value):.15g} {'/s' if unit == PER_SECOND else unit}".rstrip()


def sentence(check: Check) -> str:
    """The outcome in one sentence."""
    total = len(check.judged)
    failed, unclear = check.number("fail"), check.number("cannot judge")
    budgets = some(total, "budget")
    said = [f"{count(failed)} of {budgets} fail{'s' if failed == 1 else ''}"] if failed else []
    if unclear:
        said.append(f"{count(unclear)} {'' if failed else f'of {budgets} '}cannot be judged")
    beginning = {"fail": "Failed", "cannot judge": "Cannot be judged", "pass": "Passed"}[check.state]
    return f"{beginning}: {', '.join(said) or f'{budgets} kept'}."


def reason(judged: Judged) -> str:
    """Why the budget ended so, as a sentence without its period; empty where the numbers say it."""
    if judged.state == "fail" and judged.budget.table == "findings" and not judged.budget.limits:
        return f"found: {judged.reason}"
    return judged.reason
