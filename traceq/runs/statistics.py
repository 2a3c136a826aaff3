"""Statistics of differences of steps: resampled intervals, a permutation test, drift and outliers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Literal, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from traceq.runs.run import TRIM

Floats = NDArray[np.float64]
Statistic = Literal["typical", "mean"]

_SEED = 20_251
_MOST_RESAMPLES, _LEAST_RESAMPLES, _CELLS = 5_000, 1_000, 4_000_000
_PERMUTATIONS = 9_999
_MOST_EXACT = 20_000
_POWER = 0.9

_MOST_DEPENDENT = 0.95
_ROUNDING = 1e-12

_LEAST_TREND = 8
_MOST_TREND = 1_000
_DRIFTS = 0.001

_LEAST_OUTLIER = 4
_MADS, _MEDIANS = 5.0, 1.1


class Spread(msgspec.Struct, frozen=True):
    """Resampled deviations of a difference, ns: a row for each resample, a column for each quantity (step, categories)."""

    resamples: Floats

    def interval(self, column: int, delta: float, level: float) -> tuple[int, int]:
        """Return the interval of the true difference with confidence 1 - level, ns: percentiles of the resamples around `delta`.

        `column` is the quantity (0: the step). The interval contains 0 exactly where `p` is above the level.
        """
        ordered = np.sort(self.resamples[:, column])
        left_out = int(level / 2 * (len(ordered) - 1))
        low, high = float(delta + ordered[left_out]), float(delta + ordered[-1 - left_out])
        return (math.ceil(low) if low > 0 else round(low)), (math.floor(high) if high < 0 else round(high))

    def p(self, column: int, delta: float) -> float:
        """Return the lowest level at which the interval around `delta` (ns) excludes 0, 0..1.

        It is twice the share of resampled differences with the sign opposite to `delta`, at most 1.
        """
        shifted = self.resamples[:, column] + delta
        beyond = min(np.count_nonzero(shifted <= 0), np.count_nonzero(shifted >= 0))
        return min(1.0, 2 * int(beyond) / (len(shifted) - 1))

    def detectable(self, level: float) -> float:
        """Return the smallest difference of the first column that 9 of 10 comparisons would find at `level`, ns.

        Then 9 of 10 resamples around it lie beyond what chance does at that level, upwards and downwards.
        """
        low, unlucky_low, unlucky_high, high = np.quantile(
            self.resamples[:, 0], (level / 2, 1 - _POWER, _POWER, 1 - level / 2)
        )
        return float(max(high - unlucky_low, unlucky_high - low))


class StatedNoise(NamedTuple):
    """The known noise between runs: each side's standard deviation per column, ns, and its degrees of freedom."""

    base: Floats
    new: Floats
    freedom: int


def center_of(steps: Floats, statistic: Statistic) -> Floats:
    """Return the typical or mean step of a matrix whose rows are steps (duration, parts...), as one such row.

    Steps are chosen by duration; the axis before the last is averaged.
    """
    if statistic == "mean":
        return np.asarray(steps.mean(axis=-2))
    order = np.argsort(steps[..., 0], axis=-1, kind="stable")
    count = steps.shape[-2]
    kept = order[..., count // TRIM : count - count // TRIM]
    return np.asarray(np.take_along_axis(steps, kept[..., None], axis=-2).mean(axis=-2))


def typical_step(steps: Floats) -> float:
    """Return the typical step of a run's counted durations, ns: the mean without the shortest and longest quarter."""
    return float(center_of(steps[:, None], "typical")[0])


def measure_spread(
    base: Sequence[Floats], new: Sequence[Floats], statistic: Statistic, known: StatedNoise | None = None
) -> Spread | None:
    """Resample the steps of both sides and return the spread of their difference; None when a run has a single step.

    Each run is an array (steps, 1 + parts). Draws are widened for small samples, for steps that depend on one another,
    and for differences between runs beyond those of their steps: measured from several runs, or `known` (Student's t).
    """
    if any(len(run) < 2 for run in (*base, *new)):  # noqa: PLR2004 - a single step has no scatter
        return None
    resamples = resamples_for(sum(run.size for run in (*base, *new)))
    generators = _make_generators((*base, *new))
    resampled = [_resample_side(side, statistic, resamples, generators) for side in (base, new)]
    total = sum(resampled[1]) / len(new) - sum(resampled[0]) / len(base)
    return Spread(np.asarray(total + _draw_between(base, new, resampled, statistic, known)))


def _resample_side(
    runs: Sequence[Floats], statistic: Statistic, resamples: int, generators: Mapping[int, np.random.Generator]
) -> list[Floats]:
    """Return, for each run of a side, resampled deviations from its step; no resampled time is below 0 ns."""
    wider = dependence_factor([run[:, 0] for run in runs])
    return [
        np.maximum(wider * resample(run, statistic, resamples, generators[id(run)]), -center_of(run, statistic))
        for run in runs
    ]


def _make_generators(runs: Sequence[Floats]) -> dict[int, np.random.Generator]:
    """Return a random generator for each run, by `id` of its array, seeded by the run's durations.

    So the same runs give the same numbers, and swapping the sides only changes the sign of the difference.
    """
    taken: Counter[int] = Counter()
    found = {}
    for run in runs:
        number = crc32(run[:, 0].tobytes())
        found[id(run)] = np.random.default_rng([_SEED, number, taken[number]])
        taken[number] += 1
    return found


def resamples_for(cells: int) -> int:
    """Return how often (1,000 to 5,000 times) to resample runs that have `cells` numbers in all: less often for more numbers."""
    return int(np.clip(_CELLS // cells, _LEAST_RESAMPLES, _MOST_RESAMPLES))


def resample(run: Floats, statistic: Statistic, resamples: int, random: np.random.Generator) -> Floats:
    """Resample the steps of a run (steps, quantities) and return deviations of its center from the measured one.

    The result has a row for each resample and a column for each quantity.
    """
    count = len(run)
    ordered = run[np.argsort(run[:, 0], kind="stable")]
    left_out = count // TRIM if statistic == "typical" else 0
    found = []
    at_once = max(1, _CELLS // count)
    for begin in range(0, resamples, at_once):
        resampled = random.multinomial(count, np.full(count, 1 / count), min(at_once, resamples - begin))
        # Of the steps in order of length those between the first and the last that are left out.
        last = np.clip(np.cumsum(resampled, axis=1), left_out, count - left_out)
        kept = np.diff(last, axis=1, prepend=left_out)
        found.append(kept @ ordered / (count - 2 * left_out))
    return np.asarray((np.concatenate(found) - center_of(run, statistic)) * math.sqrt(count / (count - 1)))


def _draw_between(
    base: Sequence[Floats],
    new: Sequence[Floats],
    resampled: Sequence[Sequence[Floats]],
    statistic: Statistic,
    known: StatedNoise | None,
) -> Floats | float:
    """Draw the part of the difference that noise between runs makes, for each resample; 0 where it is neither known nor measured.

    It follows Student's t. A known variance adds its degrees of freedom to those of the measured one (Smyth, 2004).
    """
    freedom = len(base) + len(new) - 2
    more = 0 if known is None else known.freedom
    if freedom + more < 1:
        return 0.0
    centers = [np.array([center_of(run, statistic) for run in side]) for side in (base, new)]
    squares = np.asarray(sum(((side_centers - side_centers.mean(axis=0)) ** 2).sum(axis=0) for side_centers in centers))
    within = np.mean([each.var(axis=0) for side in resampled for each in side], axis=0)
    seen = np.maximum(squares - freedom * within, 0)
    usual = (0.0, 0.0) if known is None else (known.base**2, known.new**2)
    variances = [(seen + more * each) / (freedom + more) for each in usual]
    scale = np.sqrt(variances[0] / len(base) + variances[1] / len(new))
    deviations = np.random.default_rng(_SEED).standard_t(freedom + more, (len(resampled[0][0]), 1))
    return np.asarray(deviations * scale)


def dependence_factor(runs: Sequence[Floats]) -> float:
    """Return the factor by which a mean scatters more because steps resemble their predecessors: sqrt((1 + r) / (1 - r)), >= 1.

    r is the autocorrelation of ranks over all runs, corrected for few steps by (1 + 3r) / n (Marriott and Pope, 1954).
    """
    ranked = [_center_ranks(run) for run in runs]
    whole = sum(float((ranks**2).sum()) for ranks in ranked)
    if not whole:
        return 1.0
    seen = sum(float((ranks[:-1] * ranks[1:]).sum()) for ranks in ranked) / whole
    correlation = seen + (1 + 3 * seen) * len(runs) / sum(len(ranks) for ranks in ranked)
    correlation = min(max(correlation, 0.0), _MOST_DEPENDENT)
    return math.sqrt((1 + correlation) / (1 - correlation))


def rank_correlation(first: Floats, second: Floats) -> float:
    """Return the rank correlation of two series of the same length (Spearman, -1..1); 0 if one is constant."""
    ranks = [_center_ranks(each) for each in (first, second)]
    scatter = math.sqrt(float((ranks[0] ** 2).sum()) * float((ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum()) / scatter if scatter else 0.0


def _center_ranks(values: Floats) -> Floats:
    """Return the ranks of the values, less their mean."""
    ranks = _rank_values(values)
    return ranks - ranks.mean() if len(ranks) else ranks


def _rank_values(values: Floats) -> Floats:
    """Return the rank of each value in the order of size, from 1; equal values share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def permutation_p(base: Sequence[Floats], new: Sequence[Floats], statistic: Statistic) -> float:
    """Return the share of random assignments of steps to the sides that differ at least as much as the real one (0..1).

    The typical step is tested by ranks, the mean by durations. All assignments are tried if there are few, else 9,999
    random ones.
    """
    values = np.concatenate([*base, *new])
    weights = _rank_values(values) if statistic == "typical" else values
    first, count = sum(map(len, base)), len(weights)
    expected = weights.sum() * first / count
    observed = abs(weights[:first].sum() - expected) * (1 - _ROUNDING)
    if math.comb(count, first) <= _MOST_EXACT:
        shuffled = np.array([weights[list(chosen)].sum() for chosen in combinations(range(count), first)])
        return float(np.mean(np.abs(shuffled - expected) >= observed))
    random = np.random.default_rng(_SEED)
    as_much, at_once = 0, max(1, _CELLS // count)
    for begin in range(0, _PERMUTATIONS, at_once):
        rows = np.broadcast_to(weights, (min(at_once, _PERMUTATIONS - begin), count))
        shuffled = random.permuted(rows, axis=1)[:, :first].sum(axis=1)
        as_much += int(np.sum(np.abs(shuffled - expected) >= observed))
    return (1 + as_much) / (_PERMUTATIONS + 1)


def least_p(base: int, new: int) -> float:
    """Return the smallest value that `permutation_p` can have for these numbers of steps on both sides."""
    return min(1.0, 2 / math.comb(base + new, base)) if base and new else 1.0


def find_drift(durations: Floats) -> tuple[float, float] | None:
    """Return the drift from the first to the last step (Theil and Sen), ns, and p of the Mann-Kendall test.

    None when p is 0.001 or more, or steps are too few to see a trend.
    """
    count = len(durations)
    if count < _LEAST_TREND:
        return None
    chosen = np.unique(np.linspace(0, count - 1, min(count, _MOST_TREND)).astype(int))
    values = durations[chosen]
    first, second = np.triu_indices(len(chosen), 1)
    rises = values[second] - values[first]
    score = float(np.sign(rises).sum())
    _, ties = np.unique(values, return_counts=True)
    size = len(chosen)
    variance = (size * (size - 1) * (2 * size + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance <= 0 or score == 0:
        return None
    p = 2 * (1 - NormalDist().cdf((abs(score) - 1) / math.sqrt(variance)))
    if p >= _DRIFTS:
        return None
    slope = float(np.median(rises / (chosen[second] - chosen[first])))
    return slope * (count - 1), p


def find_outliers(durations: Floats) -> list[int]:
    """Return the indices of steps longer than median + 5 MAD and than 1.1 medians, as in the view outlier_step.

    Empty for fewer than 4 steps.
    """
    if len(durations) < _LEAST_OUTLIER:
        return []
    median = float(np.median(durations))
    limit = max(median + _MADS * float(np.median(np.abs(durations - median))), _MEDIANS * median)
    return [int(place) for place in np.flatnonzero(durations > limit)]
