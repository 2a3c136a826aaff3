"""Judge the trials of an experiment, and say how many rounds it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, sqrt

from traceq.common.distributions import LEVEL, student_quantile
from traceq.runs.run import Run
from traceq.runs.trials.choose_setting import choose_setting, goal_quantity, split_front, weigh_settings
from traceq.runs.trials.effects import effects_of, grid_of, interactions_of
from traceq.runs.trials.experiment import Experiment, Goal, Predicted, Quantity, SettingResult, TrialLimits
from traceq.runs.trials.findings import check_predictions, find_ablations, find_removed, find_untried, list_not_tried
from traceq.runs.trials.results import ResultTable, choose_work, results_of
from traceq.runs.trials.scaling import scaling_of
from traceq.runs.trials.trial import BASELINE, Setting, Trial

# What an experiment should see, and in how many of such experiments.
EFFECT = 0.05
_POWER = 0.8
_MOST = 1_000


def rounds_needed(
    table: ResultTable, quantity: Quantity, unsure: Sequence[str] = (), effect: float = EFFECT
) -> int | None:
    """Return the number of rounds that show a true `effect` (a share) in 8 of 10 experiments at each of the `unsure` settings.

    Without `unsure` settings the scatter of all settings is taken. None before there are two rounds; 1,000 at most.
    """
    own = [each for name in unsure if (each := spread_of([table.ratios(quantity, name)])) is not None]
    spread = max(own, default=spread_of(ratios_of(table, quantity)))
    if spread is None:
        return None
    tried = max(sum(setting.kind != "ablate" for setting in table.settings) - 1, 1)
    return next((rounds for rounds in range(2, _MOST) if _is_enough(rounds, spread, tried, effect)), _MOST)


def ratios_of(table: ResultTable, quantity: Quantity) -> list[list[float]]:
    """Return, for each setting but the baseline, its log ratios to the baseline, one per round."""
    return [table.ratios(quantity, setting.name) for setting in table.settings if setting.name != BASELINE]


def spread_of(ratios: Sequence[Sequence[float]]) -> float | None:
    """Return the standard deviation of log ratios from round to round, pooled over settings; None with fewer than two rounds."""
    freedom = sum(len(each) - 1 for each in ratios if each)
    if not freedom:
        return None
    squares = sum((ratio - sum(each) / len(each)) ** 2 for each in ratios for ratio in each)
    return sqrt(squares / freedom)


def _is_enough(rounds: int, spread: float, tried: int, effect: float) -> bool:
    """Return whether that many rounds show the effect with the wanted power (Student's t, first step of Holm's procedure).

    `spread` is the standard deviation of log ratios, `tried` the number of settings.
    """
    reach = student_quantile(LEVEL / tried, rounds - 1) + student_quantile(2 * (1 - _POWER), rounds - 1)
    return reach * spread / sqrt(rounds) <= -log(1 - effect)


# A difference that nobody would act on, as a share.
LEAST = 0.02


def study_experiment(
    settings: Sequence[Setting],
    trials: Sequence[Trial],
    *,
    goal: Goal = "throughput",
    limits: TrialLimits | None = None,
    work: str | None = None,
    least: float = LEAST,
    predictions: Mapping[str, Predicted] | None = None,
    profiles: Mapping[str, Run] | None = None,
    tries_findings: bool = False,
) -> Experiment:
    """Judge the trials of an experiment and return its result. `settings` includes the baseline, named BASELINE.

    `predictions` are by name of the setting that tries the finding, or of an ablation; `profiles` are the recorded runs
    by setting. `work` is what throughput counts; None for what all trials count. `least` is the least effect that
    matters (share). `tries_findings`: the settings are to try what the baseline's recording finds.
    """
    given, known = limits or TrialLimits(), profiles or {}
    table = ResultTable(tuple(settings), tuple(trials), work or choose_work(trials), least)
    results = results_of(table)
    field = weigh_settings(table, results)
    front, dominated = split_front(field)
    grid, quantity = grid_of(settings), goal_quantity(field, goal)
    judged, unsure = quantity or "step", _list_unsure(results, quantity)
    spread = spread_of(ratios_of(table, judged))
    untried = tuple(find_untried(settings, known))
    return Experiment(
        goal=goal,
        quantity=quantity,
        limits=given,
        least=least,
        level=LEVEL,
        work=table.work,
        rounds=max(
            result.trials - result.failed for result in results if result.setting.name != BASELINE or len(results) == 1
        ),
        results=results,
        front=front,
        dominated=dominated,
        choice=choose_setting(field, goal, given),
        effects=effects_of(table, grid, quantity) if grid and quantity else (),
        interactions=interactions_of(table, grid, quantity) if grid and quantity else (),
        removed=tuple(find_removed(known)),
        checked=tuple(check_predictions(table, results, predictions or {}, known)),
        ablations=tuple(find_ablations(table, results, predictions or {})),
        scaling=tuple(scaling_of(table, results)),
        untried=untried,
        not_tried=list_not_tried(results, untried if tries_findings else (), predictions or {}, known),
        unsure=unsure,
        noise=None if spread is None else spread / sqrt(2),
        needed=rounds_needed(table, judged, unsure),
    )


def _list_unsure(results: Sequence[SettingResult], quantity: Quantity | None) -> tuple[str, ...]:
    """Return the settings whose difference in the quantity cannot be told; empty if the quantity is not known."""
    able = [result for result in results if result.outcome == "ok" and result.setting.kind != "ablate"]
    known = [(each.setting.name, each.differences.get(quantity)) for each in able if quantity is not None]
    return tuple(name for name, found in known if found is not None and found.verdict == "cannot tell")
