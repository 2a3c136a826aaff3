"""How many rounds and steps an experiment needs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

from traceq.runs.experiment.experiment import Quantity
from traceq.runs.experiment.paired import LEVEL
from traceq.runs.experiment.results import Table
from traceq.runs.experiment.student import quantile
from traceq.runs.experiment.trial import BASELINE

# What an experiment should see, and in how many of such experiments.
EFFECT = 0.05
_POWER = 0.8
_MOST = 1_000


def rounds_needed(table: Table, quantity: Quantity, unsure: Sequence[str] = (), effect: float = EFFECT) -> int | None:
    """The rounds with which a true `effect` (a share) is called in 8 of 10 experiments at each of the `unsure` settings.

    Without any it is at what all settings scatter by. None before there are two rounds; 1,000 at most.
    """
    own = [each for name in unsure if (each := spread_of([table.ratios(quantity, name)])) is not None]
    spread = max(own, default=spread_of(ratios_of(table, quantity)))
    if spread is None:
        return None
    tried = max(sum(each.kind != "ablate" for each in table.settings) - 1, 1)
    return next((rounds for rounds in range(2, _MOST) if _sees(rounds, spread, tried, effect)), _MOST)


def ratios_of(table: Table, quantity: Quantity) -> list[list[float]]:
    """Of each setting the log ratios to the baseline, a round each."""
    return [table.ratios(quantity, each.name) for each in table.settings if each.name != BASELINE]


def spread_of(ratios: Sequence[Sequence[float]]) -> float | None:
    """The standard deviation of log ratios from round to round, of all settings together; None before two rounds."""
    freedom = sum(len(each) - 1 for each in ratios if each)
    if not freedom:
        return None
    squares = sum((ratio - sum(each) / len(each)) ** 2 for each in ratios for ratio in each)
    return sqrt(squares / freedom)


def _sees(rounds: int, spread: float, tried: int, effect: float) -> bool:
    """By the first step of Holm's procedure, and the quantile of Student's t that so many experiments reach."""
    reach = quantile(LEVEL / tried, rounds - 1) + quantile(2 * (1 - _POWER), rounds - 1)
    return reach * spread / sqrt(rounds) <= -log(1 - effect)
