"""Budgets of findings: what a rule may find. Of several runs the one in which it finds most counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from traceq.common.units import short
from traceq.diagnosis.subject import WORTH_LISTING
from traceq.runs.budgets.budget import NANOSECONDS, Budget, Judged, Measured
from traceq.runs.budgets.known import ANY
from traceq.runs.budgets.steps import NO_STEPS
from traceq.runs.budgets.verdict import cannot, judged
from traceq.runs.compare.side import step_ns
from traceq.runs.run import FindingKept, PartKept, Run


def findings(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """The likely saving per counted step of what the rule finds, of ANY the largest finding's."""
    runs = [one.run for one in measured]
    reason = _unfit(budget, runs)
    if reason:
        return cannot(budget, reason)
    worst, found = max(((_amount(budget, run), run) for run in runs), key=lambda pair: pair[0])
    named = list(_of(budget, found))
    said = "; ".join(f"{each.title} ({each.finding_id})" for each in named[:3])
    if not budget.limits:
        return Judged(budget, "fail" if named else "pass", worst, said) if named else _nothing(budget, runs, worst)
    outcome = judged(budget, worst, reason=said)
    return outcome if outcome.state == "fail" else _nothing(budget, runs, worst, said)


def _nothing(budget: Budget, runs: Sequence[Run], worst: Fraction, said: str = "") -> Judged:
    """Pass, where the rule would have seen more than the limit."""
    for run in runs:
        if budget.name in run.cannot_tell:
            return cannot(budget, f"the rule cannot judge {run.file}: {run.cannot_tell[budget.name]}")
    smallest = max(step_ns([run], "mean") for run in runs) * Fraction(str(WORTH_LISTING))
    if any(limit.unit == NANOSECONDS and max(limit.amount, worst) < smallest for limit in budget.limits):
        return cannot(
            budget,
            f"what would win less than 1 % of the step ({short(float(smallest) / 1e6)} ms) is no finding: "
            'write "absent", or a limit above it',
        )
    return Judged(budget, "pass", worst, said)


def _unfit(budget: Budget, runs: Sequence[Run]) -> str:
    for run in runs:
        if not run.counted or not step_ns([run], "mean"):
            return f"{run.file} has no steps that count"
        if run.is_window and any(limit.unit == NANOSECONDS for limit in budget.limits):
            return NO_STEPS
        if budget.name == ANY and not any(step.gpu_ledger for step in run.counted):
            return f"{run.file} has no GPU ledger, without which nothing can be found"
    return ""


def _of(budget: Budget, run: Run) -> Iterator[FindingKept | PartKept]:
    """Of a rule also what it found in time that another finding has: it is there, whoever comes first."""
    found = run.findings if budget.name == ANY else run.found
    largest = sorted(found, key=lambda each: (-each.saving_ns, each.finding_id))
    if budget.name == ANY:
        return iter(largest if not budget.limits else largest[:1])
    return (each for each in largest if each.rule == budget.name)


def _amount(budget: Budget, run: Run) -> Fraction:
    savings = [Fraction(repr(float(each.saving_ns))) for each in _of(budget, run)]
    saving = sum(savings, Fraction(0)) if budget.name != ANY else max(savings, default=Fraction(0))
    return saving if budget.unit == NANOSECONDS else saving / step_ns([run], "mean")
