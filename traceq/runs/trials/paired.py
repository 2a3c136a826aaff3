"""Differences paired by round: what is common to a round, such as a machine that is busy, cancels.

Of a setting's log ratios, a round each, the mean with Student's t. Where rounds are few their variance says little: those of
the other settings count as well, with so many degrees of freedom as `_PRIOR` (a moderated t, Smyth 2004), unless the setting is
noisier than they are. Several settings are judged by Holm's procedure: that any of those that change nothing is called
different has a probability of `level` at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt

import msgspec

from traceq.common.distributions import LEVEL, student_p, student_quantile
from traceq.runs.trials.experiment import SettingDifference, Verdict

_PRIOR = 3
# The scatter of the others does not count for two rounds, and where that of a setting is so many times as large (variances):
# with one noisy setting among quiet ones more than 5 % of experiments that change nothing would call a difference.
_LEAST_ROUNDS, _LOUDER = 3, 4

Rounds = Mapping[int, float]


class Mean(msgspec.Struct, frozen=True):
    """A mean of log ratios with its standard error; `freedom` (degrees of freedom) is 0 where the scatter is not known."""

    value: float
    error: float
    freedom: int
    rounds: int

    @property
    def p(self) -> float | None:
        """The probability of such a mean if there is no difference (0..1); None if the scatter is not known."""
        if not self.freedom:
            return None
        if not self.error:
            return float(not self.value)
        return student_p(self.value / self.error, self.freedom)

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the interval of the true ratio (not its log) with confidence 1 - level; None if the scatter is not known."""
        if not self.freedom:
            return None
        reach = self.error * student_quantile(level, self.freedom)
        return exp(self.value - reach), exp(self.value + reach)


def log_ratios(mine: Rounds, base: Rounds) -> list[float]:
    """Return the log ratio `mine` / `base` of each round that both have with values above 0."""
    both = [(mine[each], base[each]) for each in sorted(mine.keys() & base.keys())]
    return [log(one / other) for one, other in both if one > 0 and other > 0]


def mean_of(ratios: Sequence[float], others: Sequence[Sequence[float]] = ()) -> Mean | None:
    """Return the mean of log ratios, one per round; None for an empty list.

    `others` are the ratios of other settings, whose scatter helps to estimate the variance where rounds are few.
    """
    if not ratios:
        return None
    count = len(ratios)
    value = sum(ratios) / count
    if count == 1:
        return Mean(value, 0.0, 0, 1)
    own, known = _sum_squares(ratios) / (count - 1), sum(len(other) - 1 for other in others if other)
    usual = sum(map(_sum_squares, others)) / known if known else 0.0
    prior = min(_PRIOR, known) if count >= _LEAST_ROUNDS and own <= _LOUDER * usual else 0
    variance = (own * (count - 1) + usual * prior) / (count - 1 + prior)
    return Mean(value, sqrt(variance / count), count - 1 + prior, count)


def subtract_means(one: Mean | None, other: Mean | None) -> Mean | None:
    """Return the mean `one` less the mean `other`, taken as independent; None if either is None."""
    if one is None or other is None:
        return None
    error = sqrt(one.error**2 + other.error**2)
    return Mean(one.value - other.value, error, min(one.freedom, other.freedom), min(one.rounds, other.rounds))


def _sum_squares(values: Sequence[float]) -> float:
    """Return the sum of the squared deviations from the mean; 0 for no values or equal ones."""
    if not values:
        return 0.0
    middle = sum(values) / len(values)
    squares = sum((value - middle) ** 2 for value in values)
    # Of equal values a rounding error would be a scatter.
    return squares if squares > 1e-24 * len(values) else 0.0


def adjust_holm(ps: Sequence[float]) -> list[float]:
    """Return the p values adjusted for their number by Holm's procedure, in the order given."""
    adjusted = [1.0] * len(ps)
    highest = 0.0
    for place, number in enumerate(sorted(range(len(ps)), key=lambda number: ps[number])):
        highest = max(highest, min(1.0, (len(ps) - place) * ps[number]))
        adjusted[number] = highest
    return adjusted


def judge_differences(
    means: Mapping[str, Mean], least: float, *, more_is_better: bool, level: float = LEVEL
) -> dict[str, SettingDifference]:
    """Return each setting's difference from the baseline and its verdict, all tested as one family (Holm).

    `means` are mean log ratios by setting; `least` is the least effect that matters, as a share.
    """
    known = {name: mean.p for name, mean in means.items() if mean.p is not None}
    adjusted = dict(zip(known, adjust_holm([p for p in known.values() if p is not None]), strict=True))
    return {
        name: SettingDifference(
            ratio=exp(mean.value),
            interval=mean.interval(level),
            p=mean.p,
            adjusted=adjusted.get(name),
            rounds=mean.rounds,
            verdict=_judge_mean(mean, adjusted.get(name), least, level, more_is_better=more_is_better),
        )
        for name, mean in means.items()
    }


def _judge_mean(mean: Mean, adjusted: float | None, least: float, level: float, *, more_is_better: bool) -> Verdict:
    """Return "no difference" if the whole interval is within the least effect, else a sure change, else "cannot tell"."""
    interval = mean.interval(level)
    if interval is None or adjusted is None:
        return "cannot tell"
    if 1 - least < interval[0] and interval[1] < 1 / (1 - least):
        return "no difference"
    if adjusted > level or abs(mean.value) < -log(1 - least):
        return "cannot tell"
    return "better" if (mean.value > 0) == more_is_better else "worse"
