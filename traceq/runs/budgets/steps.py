"""Budgets of the step: its duration by several statistics, the work done a second, and the parts of its ledger."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from traceq.common.units import some
from traceq.runs.budgets.budget import SHARE, Budget, Judged, Measured
from traceq.runs.budgets.known import SUMS
from traceq.runs.budgets.verdict import cannot, judged, reproduced
from traceq.runs.compare.side import step_ns
from traceq.runs.run import Run

# Below so many steps the longest few decide, and a percentile is one of them.
LEAST_STEPS = {"p90": 10, "p95": 20, "p99": 100}
_QUANTILES = {"p50": Fraction(50, 100), "p90": Fraction(90, 100), "p95": Fraction(95, 100), "p99": Fraction(99, 100)}

NO_STEPS = "no steps were found; mark them, or ingest with --step-range"


def step(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """A duration; every run counts the same in the typical and the mean step, every step in the others."""
    durations = sorted(each.dur for one in measured for each in one.run.counted)
    reason = no_steps(measured)
    least = LEAST_STEPS.get(budget.name, 1)
    if reason or len(durations) < least:
        counted = some(len(durations), "step counts", "steps count")
        return cannot(budget, reason or f"{counted}, too few for {budget.name}: {least} are the least")
    query = "runs/budgets/typical.sql" if budget.name == "typical" else "analysis/steps/statistics.sql"
    return judged(budget, _duration(budget.name, durations, measured), query=reproduced(measured, query))


def throughput(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """Work of the payload marks a second; every run counts the same."""
    reason = no_steps(measured)
    lacking = next((one.run for one in measured if budget.name not in one.run.payload), None)
    if lacking is not None and not reason:
        there = ", ".join(sorted(lacking.payload)) or "none; traceq.annotate.payload makes them"
        reason = f"{lacking.file} has no payload mark {budget.name!r} in its steps (there: {there})"
    mean = Fraction(0) if reason else step_ns([one.run for one in measured], "mean")
    if reason or not mean:
        return cannot(budget, reason or "steps have no duration")
    work = sum((Fraction(repr(one.run.payload[budget.name])) for one in measured), Fraction(0)) / len(measured)
    return judged(
        budget, work * 1_000_000_000 / mean, query=reproduced(measured, "analysis/steps/throughput.sql", top=1_000)
    )


def ledger(budget: Budget, measured: Sequence[Measured]) -> Judged:
    """What a category, or several, take of the mean step; every run counts the same."""
    runs = [one.run for one in measured]
    reason = no_steps(measured)
    if budget.unit == SHARE and all(run.is_window for run in runs):
        reason = ""  # of a window there are shares
    without = next((run for run in runs if not any(step.gpu_ledger for step in run.counted)), None)
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


def no_steps(measured: Sequence[Measured]) -> str:
    """Why there is nothing that is per step; empty where there is."""
    if any(one.run.is_window for one in measured):
        return NO_STEPS
    without = next((one.run for one in measured if not one.run.counted), None)
    return f"{without.file} has no steps that count" if without else ""


def _duration(name: str, durations: Sequence[int], measured: Sequence[Measured]) -> Fraction:
    runs = [one.run for one in measured]
    if name == "typical":
        return step_ns(runs, "typical")
    if name == "mean":
        return step_ns(runs, "mean")
    return Fraction(durations[-1]) if name == "max" else quantile(durations, _QUANTILES[name])


def quantile(ordered: Sequence[int], share: Fraction) -> Fraction:
    """As DuckDB's quantile_cont has it: between neighbours in proportion."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
