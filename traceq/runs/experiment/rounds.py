"""How many rounds and steps an experiment needs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

from traceq.runs.experiment.measure import by_round
from traceq.runs.experiment.paired import LEVEL, logs
from traceq.runs.experiment.student import quantile
from traceq.runs.experiment.trial import BASELINE, Setting, Trial
from traceq.runs.tradeoff.values import STEPS as COUNTED

# What an experiment should see, and in how many of such experiments.
EFFECT = 0.05
_POWER = 0.8
_MOST = 1_000


def rounds_needed(settings: Sequence[Setting], trials: Sequence[Trial], effect: float = EFFECT) -> int | None:
    """The rounds with which a true `effect` (a share of the step) is called in 8 of 10 experiments; None before there are two.

    Most of all that can be asked for is 1,000.
    """
    spread = spread_of(trials)
    if spread is None:
        return None
    tried = max(sum(each.kind != "ablate" for each in settings) - 1, 1)
    return next((rounds for rounds in range(2, _MOST) if _sees(rounds, spread, tried, effect)), _MOST)


def spread_of(trials: Sequence[Trial]) -> float | None:
    """The standard deviation of log ratios of a setting's step to the baseline's, from round to round; None before two rounds."""
    steps = by_round(trials, "step", COUNTED)
    ratios = [logs(rounds, steps.get(BASELINE, {})) for name, rounds in steps.items() if name != BASELINE]
    freedom = sum(len(each) - 1 for each in ratios if each)
    if not freedom:
        return None
    squares = sum((ratio - sum(each) / len(each)) ** 2 for each in ratios for ratio in each)
    return sqrt(squares / freedom)


def _sees(rounds: int, spread: float, tried: int, effect: float) -> bool:
    """By the first step of Holm's procedure, and the quantile of Student's t that so many experiments reach."""
    reach = quantile(LEVEL / tried, rounds - 1) + quantile(2 * (1 - _POWER), rounds - 1)
    return reach * spread / sqrt(rounds) <= -log(1 - effect)
