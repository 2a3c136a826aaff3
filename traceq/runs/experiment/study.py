"""What the trials of an experiment say, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from traceq.runs.experiment.choose import choice_of, field_of, front_of, goal_quantity
from traceq.runs.experiment.effects import effects_of, grid_of, interactions_of
from traceq.runs.experiment.experiment import Experiment, Goal, Limits, Predicted, Quantity, Result
from traceq.runs.experiment.findings import ablations_of, checked_of, removed_of, untried_of
from traceq.runs.experiment.measure import usual_work
from traceq.runs.experiment.paired import LEVEL
from traceq.runs.experiment.results import Table, results_of
from traceq.runs.experiment.rounds import ratios_of, rounds_needed, spread_of
from traceq.runs.experiment.scaling import scaling_of
from traceq.runs.experiment.trial import BASELINE, Setting, Trial
from traceq.runs.run import Run

# A difference that nobody would act on, as a share.
LEAST = 0.02


def study(
    settings: Sequence[Setting],
    trials: Sequence[Trial],
    *,
    goal: Goal = "throughput",
    limits: Limits | None = None,
    work: str | None = None,
    least: float = LEAST,
    predictions: Mapping[str, Predicted] | None = None,
    profiles: Mapping[str, Run] | None = None,
) -> Experiment:
    """The result of the trials. `settings` has the baseline, named BASELINE, in it.

    `predictions` are by the name of the setting that tries the finding, and of an ablation; `profiles` are the recordings of
    settings, the baseline's among them. `work` is what throughput counts, None for what all trials have.
    """
    given, known = limits or Limits(), profiles or {}
    table = Table(tuple(settings), tuple(trials), work or usual_work(trials), least)
    results = results_of(table)
    field = field_of(table, results)
    front, dominated = front_of(field)
    grid, quantity = grid_of(settings), goal_quantity(field, goal)
    judged, unsure = quantity or "step", _unsure(results, quantity)
    spread = spread_of(ratios_of(table, judged))
    return Experiment(
        goal=goal,
        quantity=quantity,
        limits=given,
        least=least,
        level=LEVEL,
        work=table.work,
        rounds=max(each.trials - each.failed for each in results if each.setting.name != BASELINE or len(results) == 1),
        results=results,
        front=front,
        dominated=dominated,
        choice=choice_of(field, goal, given),
        effects=effects_of(table, grid, quantity) if grid and quantity else (),
        interactions=interactions_of(table, grid, quantity) if grid and quantity else (),
        removed=tuple(removed_of(known)),
        checked=tuple(checked_of(table, results, predictions or {}, known)),
        ablations=tuple(ablations_of(table, results, predictions or {})),
        scaling=tuple(scaling_of(table, results)),
        untried=tuple(untried_of(settings, known)),
        unsure=unsure,
        noise=None if spread is None else spread / sqrt(2),
        needed=rounds_needed(table, judged, unsure),
    )


def _unsure(results: Sequence[Result], quantity: Quantity | None) -> tuple[str, ...]:
    able = [each for each in results if each.outcome == "ok" and each.setting.kind != "ablate"]
    known = [(each.setting.name, each.differences.get(quantity)) for each in able if quantity is not None]
    return tuple(name for name, found in known if found is not None and found.verdict == "cannot tell")
