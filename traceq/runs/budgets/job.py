"""Budgets of jobs of several ranks: the step over all ranks, and who holds it up. Of several jobs the worst counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from traceq.common.units import duration
from traceq.runs.budgets.budget import NANOSECONDS, Budget, Judged, Measured
from traceq.runs.budgets.steps import NO_STEPS
from traceq.runs.budgets.verdict import cannot, judged
from traceq.runs.job.job import Job
from traceq.runs.run import TRIM


def job(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """Of `step` the job's typical step, of `slowdown` how much late ranks lengthen it, of `straggler` what the worst costs."""
    jobs = {each.run.job.sha256: each.run.job for each in measured if each.run.job is not None}
    if any(each.run.job is None for each in measured):
        return cannot(budget, "there are not several ranks of one job: ingest the traces of all ranks together")
    if budget.name == "step":
        return _step(budget, [(each.run.is_window, each.run.job) for each in measured if each.run.job is not None])
    for each in jobs.values():
        if each.slowdown is None:
            return cannot(
                budget,
                f"who is late in {each.name or 'the job'} cannot be told: {each.cannot_tell or 'it was not judged'}",
            )
    if budget.name == "slowdown":
        worst = max(jobs.values(), key=lambda each: each.slowdown or 0.0)
        return judged(budget, Fraction(str(worst.slowdown)), reason=_who(worst))
    return _straggler(budget, list(jobs.values()))


def _step(budget: Budget, jobs: Sequence[tuple[bool, Job]]) -> Judged:
    if any(is_window for is_window, _ in jobs):
        return cannot(budget, NO_STEPS)
    typical = []
    for _, each in jobs:
        counted = sorted(step.dur for step in each.steps if step.excluded is None)
        if not counted:
            return cannot(budget, "no step is on all ranks and counts")
        left_out = len(counted) // TRIM
        typical.append(Fraction(sum(counted[left_out : len(counted) - left_out]), len(counted) - 2 * left_out))
    return judged(budget, sum(typical, Fraction(0)) / len(typical))


def _straggler(budget: Budget, jobs: Sequence[Job]) -> Judged:
    """What the worst rank, host or stage costs a step, alone or when those before it are fixed."""
    worst = max(jobs, key=_largest)
    cost = Fraction(_largest(worst))
    if budget.unit != NANOSECONDS:
        cost = cost * worst.steps_told / worst.dur if worst.dur else Fraction(0)
    if not budget.limits:
        return Judged(budget, "fail" if worst.stragglers else "pass", cost, _who(worst))
    return judged(budget, cost, reason=_who(worst))


def _largest(job: Job) -> int:
    """Of those that are named and of every rank, whether or not it is worth naming, ns per step."""
    named = [cost for each in job.stragglers for cost in (each.adds_ns, each.win_ns)]
    return max((*named, *(each.win_ns or 0 for each in job.ranks)), default=0)


def _who(job: Job) -> str:
    """The stragglers, for the reason of a budget."""
    listed = 3
    told = [f"{each.name} ({duration(each.adds_ns)} a step)" for each in job.stragglers[:listed]]
    more = len(job.stragglers) - listed
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")
