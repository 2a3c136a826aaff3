"""Changes of level and slopes of a series of times, with bounds, robust against tails and autocorrelation.

A series is cut where that explains it best: optimal partitioning (Jackson and others 2005, IEEE Signal Processing Letters 12)
of values whose outliers are clipped, with squared errors in units of the long-run variance. Autocorrelation is estimated
from differences at lags 1 and 2, as Chakar and others do (2017, Bernoulli 23), so that changes do not pass for noise.
What a change must explain is fitted on made noise of many lengths: docs/decisions/0040-change-points.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FLOOR = 0.02
"""The least change of a level that is reported unless the caller says otherwise, as a share of it."""

SLOPE_FLOOR = 0.03
"""The least change by a slope from the first value to the last, as a share: a wave of 1 % up and down may pass for 2.4 %."""

_MOST_BLOCKS = 2_000
_FEWEST = 8
_TRIMMED, _OF_NORMAL = 0.9, 0.623  # the lowest 90 % of squared normal deviations have this share of their variance
_OF_MEDIAN = 1.4826
_CLIP = 3.0
_MOST_CORRELATED = 0.9
_FEW_BLOCKS, _ENOUGH_FOR_TWO, _ENOUGH_MEANS = 400, 60, 32
_NEAR = 40
_LEAST_REACH = 20
_MOST_BEYOND = 0.4
_BAI = 11.0
_NORMAL_95 = 1.96
# A level may be found a little shorter than what counts, where single values at its borders are like the other level.
_MUCH_SHORTER = 2 / 3


class LevelChange(msgspec.Struct, frozen=True):
    """A lasting change of the level of a series.

    `index` is the first value at the new level; with 95 % confidence it lies in `low`..`high`. `before` and `after` are
    the medians up to the neighbouring changes, in the unit of the values; `ratio` is after / before, with its interval of 95 %.
    """

    index: int
    low: int
    high: int
    before: float
    after: float
    ratio: float
    ratio_low: float
    ratio_high: float


class Slope(NamedTuple):
    """A steady change of a series, as a share of its median per unit of x, with its interval of 95 %."""

    per_unit: float
    low: float
    high: float


class SeriesDescription(NamedTuple):
    """The best explanation of a series: changes of its level, a slope, or neither."""

    changes: list[LevelChange]
    slope: Slope | None


class _Series(NamedTuple):
    """A series ready to be cut: its values without gaps, and block medians with outliers clipped.

    `position` is where each value was among those given; `size` the number of values a block; `least` the fewest values
    between changes, `shortest` the fewest blocks; `variance` the long-run variance of a block, `spread` the standard deviation
    of a value.
    """

    values: Floats
    position: NDArray[np.intp]
    blocks: Floats
    size: int
    least: int
    shortest: int
    variance: float
    spread: float


def find_level_changes(
    values: ArrayLike | Sequence[float | None],
    *,
    floor: float = FLOOR,
    shortest: int | None = None,
    warm_up: float = 0.0,
) -> list[LevelChange]:
    """Return the changes of level of a series, in its order; NaN and None are left out.

    A stretch that is slow for a while is two changes. `floor` is the least change worth telling, as a share of the level;
    a quarter of the standard deviation of single values is the least in any case. `shortest` is the fewest values at a
    level (by default 3 of few values, 20 of 1,000 and more). Changes in the first `warm_up` (a share) are not told.
    """
    series = _prepare_series(values, shortest)
    return [] if series is None else _level_changes(series, floor, warm_up)


def find_slope(x: ArrayLike, values: ArrayLike | Sequence[float | None], *, floor: float = SLOPE_FLOOR) -> Slope | None:
    """Return the slope of a series over `x`, or None where there is no trend beyond chance.

    `floor` is the least change from the first x to the last that is worth telling, as a share of the level.
    """
    series = _prepare_series(values, None)
    return None if series is None else _measure_slope(series, np.asarray(x, dtype=float), floor)


def describe_series(
    x: ArrayLike,
    values: ArrayLike | Sequence[float | None],
    *,
    floor: float = FLOOR,
    slope_floor: float = SLOPE_FLOOR,
    shortest: int | None = None,
    warm_up: float = 0.0,
) -> SeriesDescription:
    """Return what explains a series best: the changes of its level, or a slope over `x`, or neither.

    Both are found as find_level_changes and find_slope do; of the two, the one with the lower squared error in units of the
    long-run variance is taken, each change and the slope being charged what it has to explain to count.
    """
    series = _prepare_series(values, shortest)
    if series is None:
        return SeriesDescription([], None)
    changes = _level_changes(series, floor, warm_up)
    positions = np.asarray(x, dtype=float)
    slope = _measure_slope(series, positions, slope_floor)
    if slope is not None and changes:
        cuts = [int(np.searchsorted(series.position, change.index)) // series.size for change in changes]
        # two changes may lie in one block
        edges = sorted({0, *cuts, len(series.blocks)})
        levels = sum(_sum_squares(series.blocks[low:high]) for low, high in pairwise(edges))
        line = _sum_squares(series.blocks) - _line_gain(series, positions)[1]
        penalty = _find_penalty(len(series.blocks)) * series.variance
        if levels + len(changes) * penalty < line + _find_slope_penalty(len(series.blocks)) * series.variance:
            slope = None
        else:
            changes = []
    return SeriesDescription(changes, slope)


def _prepare_series(values: ArrayLike | Sequence[float | None], shortest: int | None) -> _Series | None:
    """Return the series of the values that are numbers; None for too few, or for values that are all the same."""
    given = np.asarray(values, dtype=float)
    position = np.flatnonzero(np.isfinite(given))
    known = given[position]
    if len(known) < _FEWEST or known.min() == known.max():
        return None
    least = shortest or max(3, min(20, len(known) // 50))
    size = -(-len(known) // _MOST_BLOCKS)
    if size == 1:
        medians = known
    else:
        whole = len(known) // size * size
        medians = np.median(known[:whole].reshape(-1, size), axis=1)
    least_blocks = max(2 if size > 1 else 3, -(-least // size))
    blocks = _clip_outliers(medians, 2 * least_blocks - 1)
    quantum = _find_quantum(blocks)
    variance = _long_run_variance(blocks, quantum)
    spread = max(_measure_deviation(np.diff(known)) / math.sqrt(2), quantum / math.sqrt(12))
    return _Series(known, position, blocks, size, least, least_blocks, variance, spread)


def _clip_outliers(values: Floats, width: int) -> Floats:
    """Return the values with those far from the running median of `width` values moved to 3 standard deviations from it.

    Near an end it is the median of the values nearest to it.
    """
    width = min(width, len(values))
    middle = np.median(np.lib.stride_tricks.sliding_window_view(values, width), axis=1)
    middle = np.pad(middle, (width // 2, width - 1 - width // 2), mode="edge")
    away = values - middle
    # Some values are the median themselves: of few values many.
    limit = _CLIP * max(_measure_deviation(away[away != 0]), _find_quantum(values)) if away.any() else 0.0
    return np.asarray(middle + np.clip(away, -limit, limit))


def _measure_deviation(deviations: Floats) -> float:
    """Return the standard deviation around 0 by the median, which up to half of the values do not disturb, as if normal."""
    return _OF_MEDIAN * float(np.median(np.abs(deviations)))


def _variance_of(deviations: Floats) -> float:
    """Return the variance of deviations around 0 from the smallest 90 % of their squares, as if they were normal."""
    squares = np.sort(deviations**2)
    return float(squares[: max(1, int(_TRIMMED * len(squares)))].mean()) / _OF_NORMAL


def _find_quantum(values: Floats) -> float:
    """Return the step in which values are printed: the median gap of different ones where most are ties, otherwise 0."""
    different = np.unique(values)
    if len(different) * 2 > len(values) or len(different) < 2:  # noqa: PLR2004 - one value has no gap
        return 0.0
    return float(np.median(np.diff(different)))


def _long_run_variance(blocks: Floats, quantum: float) -> float:
    """Return the long-run variance of a block, however the level changes.

    Of many blocks it comes from differences alone. Of few these tell little: the noise that is left beside the best line or
    stretch at another level tells more, and beside the two best; the least counts, since a model that is wrong makes more.
    """
    count = len(blocks)
    if count > _FEW_BLOCKS:
        variance = max(_from_differences(blocks, quantum, 1), _from_means(blocks))
    else:
        rest = _rest_of_best(blocks)
        variance = min(_from_differences(blocks, quantum, 2), _from_rest(rest, 1))
        if count >= _ENOUGH_FOR_TWO:
            variance = min(variance, _from_rest(_rest_of_best(rest), 2))
    return max(variance, quantum**2 / 12, 1e-24 * float(np.median(blocks)) ** 2, 1e-300)


def _from_differences(blocks: Floats, quantum: float, errors: int) -> float:
    """Return the long-run variance of AR(1) noise with autocorrelation r, by differences at lags 1 and 2.

    It is half the variance of differences x (1 + r) / (1 - r)^2; r is raised by `errors` standard errors.
    """
    near, far = (_variance_of(_without_drift(blocks[lag:] - blocks[:-lag])) for lag in (1, 2))
    near = max(near, quantum**2 / 6, 1e-300)
    correlation = min(max(far / near - 1, 0.0) + errors / math.sqrt(len(blocks)), _MOST_CORRELATED)
    return near / 2 * (1 + correlation) / (1 - correlation) ** 2


def _from_means(blocks: Floats) -> float:
    """Return the largest long-run variance that differences of means of 2, 4, 8... blocks tell: noise slower than AR(1)."""
    variance, width = 0.0, 2
    while len(blocks) // width >= _ENOUGH_MEANS:
        means = blocks[: len(blocks) // width * width].reshape(-1, width).mean(axis=1)
        variance = max(variance, width / 2 * _variance_of(_without_drift(np.diff(means))))
        width *= 2
    return variance


def _from_rest(rest: Floats, models: int) -> float:
    """Return the long-run variance of AR(1) noise that `models` lines or stretches leave over.

    Its autocorrelation is raised by what fitting takes from it, about (1 + 3 r) / n a model (Marriott and Pope 1954,
    Biometrika 41), and by a standard error for each model.
    """
    count = len(rest)
    squares = float(rest @ rest)
    if squares == 0:
        return 0.0
    plain = float(rest[1:] @ rest[:-1]) / squares
    correlation = max(plain + models * (1 + 3 * plain) / count, 0.0) + models / math.sqrt(count)
    correlation = min(correlation, _MOST_CORRELATED)
    return squares / (count - 3 * models) * (1 + correlation) / (1 - correlation)


def _rest_of_best(blocks: Floats) -> Floats:
    """Return what the better of the best line and the best stretch at another level leaves over."""
    count = len(blocks)
    centred = blocks - blocks.mean()
    x = np.arange(count) - (count - 1) / 2
    line = centred - x * float(x @ centred) / float(x @ x)
    sums = np.concatenate(([0.0], np.cumsum(centred)))
    begin, end = np.triu_indices(count + 1, 3)
    begin, end = begin[end - begin <= count - 3], end[end - begin <= count - 3]
    best = int(((sums[end] - sums[begin]) ** 2 / ((end - begin) * (count - (end - begin)))).argmax())
    is_inside = np.zeros(count, dtype=bool)
    is_inside[begin[best] : end[best]] = True
    stretch = centred - np.where(is_inside, centred[is_inside].mean(), centred[~is_inside].mean())
    return np.asarray(min(line, stretch, key=lambda rest: float(rest @ rest)))


def _without_drift(differences: Floats) -> Floats:
    """Return differences less their median, which a slope gives them."""
    return np.asarray(differences - np.median(differences))


def _find_penalty(count: int) -> float:
    """Return what a change must explain among `count` blocks, in long-run variances."""
    return float(np.interp(math.log(count), np.log(_COUNTS), _PENALTIES))


def _find_slope_penalty(count: int) -> float:
    """Return what a slope must explain among `count` blocks, in long-run variances."""
    return float(np.interp(math.log(count), np.log(_COUNTS), _SLOPE_PENALTIES))


# 99 % quantiles of what the best change of a series without one explains, by its number of blocks: made series with AR(1)
# of 0, 0.3 and 0.6 and tails, the largest of the three (tests/benchmarks/fit_change_points.py).
_COUNTS = (8, 10, 14, 20, 30, 40, 60, 100, 200, 400, 2_000)
_PENALTIES = (28.0, 28.0, 31.0, 31.0, 28.0, 26.0, 26.0, 24.0, 17.0, 16.0, 16.0)
_SLOPE_PENALTIES = (22.0, 23.0, 25.0, 23.0, 18.0, 16.0, 15.0, 13.0, 9.0, 8.0, 8.0)


def _sum_squares(values: Floats) -> float:
    """Return the sum of squared deviations from the mean."""
    return float(((values - values.mean()) ** 2).sum())


def _cut_blocks(blocks: Floats, shortest: int, penalty: float) -> list[int]:
    """Return the cuts (first blocks of segments but the first) with the least squared error + `penalty` for each cut.

    It is optimal partitioning: the best end of each prefix comes from the best of all shorter ones.
    """
    count = len(blocks)
    centred = blocks - blocks.mean()
    sums = np.concatenate(([0.0], np.cumsum(centred)))
    lengths = np.arange(count + 1, dtype=float)
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    last = np.zeros(count + 1, dtype=np.intp)
    for end in range(shortest, count + 1):
        starts = end - shortest + 1
        # The sum of all squares is the same for all cuts: only the squares of the means count.
        cost = best[:starts] - (sums[end] - sums[:starts]) ** 2 / (end - lengths[:starts])
        last[end] = start = int(cost.argmin())
        best[end] = cost[start] + penalty
    cuts = []
    end = int(last[count])
    while end > 0:
        cuts.append(end)
        end = int(last[end])
    return cuts[::-1]


def _level_changes(series: _Series, floor: float, warm_up: float) -> list[LevelChange]:
    """Return the changes of a series that explain enough and are large enough, both after those that do not are taken out."""
    penalty = _find_penalty(len(series.blocks))
    cuts = _cut_blocks(series.blocks, series.shortest, penalty * series.variance)
    begin = 0
    while cuts and cuts[0] * series.size <= warm_up * len(series.values):
        begin = cuts.pop(0)
    while cuts:
        worth = _rate_cuts(series, begin, cuts, floor, penalty)
        weakest = int(np.argmin(worth))
        if worth[weakest] >= 1:
            break
        del cuts[weakest]
    edges = [begin * series.size]
    for low, cut, high in _list_neighbours(begin, cuts, len(series.blocks)):
        edges.append(_locate_change(series, low, cut, high, edges[-1] + 1))
    edges.append(len(series.values))
    return _describe_edges(series, _merge_short(series, edges), floor)


def _merge_short(series: _Series, edges: list[int]) -> list[int]:
    """Return the edges of segments without those that locating has made much shorter than what counts: a few outliers in a row.

    Of the two cuts around such a segment the one with the smaller change of the median goes.
    """
    edges = edges.copy()
    while len(edges) > 2:  # noqa: PLR2004 - both ends
        lengths = [high - low for low, high in pairwise(edges)]
        place = int(np.argmin(lengths))
        if lengths[place] >= _MUCH_SHORTER * series.least:
            break
        medians = [float(np.median(series.values[low:high])) for low, high in pairwise(edges)]
        around = [cut for cut in (place, place + 1) if 0 < cut < len(edges) - 1]
        del edges[min(around, key=lambda cut: abs(medians[cut] - medians[cut - 1]))]
    return edges


def _describe_edges(series: _Series, edges: list[int], floor: float) -> list[LevelChange]:
    """Return the changes at the inner edges, both after those are taken out that are too small or that may be none."""
    while True:
        changes = [_describe_change(series, *edges[number : number + 3]) for number in range(len(edges) - 2)]
        sizes = [abs(change.after - change.before) for change in changes]
        doubtful = [
            place
            for place, change in enumerate(changes)
            if sizes[place] < floor * abs(change.before) or change.ratio_low <= 1 <= change.ratio_high
        ]
        if not doubtful:
            return changes
        edges = [*edges]
        del edges[1 + min(doubtful, key=lambda place: sizes[place])]


def _list_neighbours(begin: int, cuts: list[int], end: int) -> list[tuple[int, int, int]]:
    """Return each cut between the cuts before and after it."""
    edges = [begin, *cuts, end]
    return list(zip(edges, edges[1:], edges[2:], strict=False))


def _rate_cuts(series: _Series, begin: int, cuts: list[int], floor: float, penalty: float) -> list[float]:
    """Return for each cut how it compares with the least that counts (1): by what it explains or by its size, the less."""
    worths = []
    for low, cut, high in _list_neighbours(begin, cuts, len(series.blocks)):
        before, after = series.blocks[low:cut], series.blocks[cut:high]
        explained = _sum_squares(series.blocks[low:high]) - _sum_squares(before) - _sum_squares(after)
        local = _scale_variance(series, low, cut, high)
        least = max(floor * abs(float(np.median(before))), series.spread / 4)
        size = abs(float(np.median(after)) - float(np.median(before)))
        worths.append(min(explained / (penalty * local), size / least if least else math.inf))
    return worths


def _scale_variance(series: _Series, low: int, cut: int, high: int) -> float:
    """Return the long-run variance of a block at a cut between two others: larger than the series' where noise is larger there.

    Noise is that of both sides, and of _NEAR blocks on both sides of the cut; the largest counts.
    """
    of_all = _variance_of(np.diff(series.blocks))
    parts = (series.blocks[low:cut], series.blocks[cut:high], series.blocks[max(cut - _NEAR, 0) : cut + _NEAR])
    # Of many cuts that are looked at, some lie where few differences make noise look small.
    caution = 2.0 if len(series.blocks) > _FEW_BLOCKS else 0.0
    local = max(
        (_variance_of(np.diff(part)) * (1 + caution / math.sqrt(len(part))) for part in parts if len(part) >= _FEWEST),
        default=0.0,
    )
    return series.variance * max(1.0, local / of_all if of_all else 1.0)


def _locate_change(series: _Series, low: int, cut: int, high: int, earliest: int) -> int:
    """Return the value at which the level changes, from `earliest` on: found by single values around a cut between blocks."""
    before, after = (float(np.median(part)) for part in (series.blocks[low:cut], series.blocks[cut:high]))
    reach = max(2 * series.size, _LEAST_REACH)
    first = max(earliest, low * series.size, cut * series.size - reach)
    near = series.values[first : min(high * series.size - 1, cut * series.size + reach)]
    # An outlier next to a large change must not outweigh a value at the new level.
    room = max(0.0, 2 * series.spread - abs(after - before) / 2)
    near = np.clip(near, min(before, after) - room, max(before, after) + room)
    # Each value speaks for the old level or the new one: their sum is the lowest where the new level begins.
    votes = np.concatenate(([0.0], np.cumsum((near - (before + after) / 2) * (after - before))))
    # Values that were cut to the same distance from the middle cancel out, but for rounding: the first place counts.
    return first + int((votes <= votes.min() + 1e-9 * (after - before) ** 2).argmax())


def _describe_change(series: _Series, low: int, index: int, high: int) -> LevelChange:
    """Return the change at `index` between the values from `low` and those up to `high`, with its bounds.

    The interval of the ratio takes the medians for normal, by the long-run variance.
    """
    before, after = series.values[low:index], series.values[index:high]
    levels = float(np.median(before)), float(np.median(after))
    variance = series.size * _scale_variance(series, low // series.size, index // series.size, high // series.size)
    reach = _limit_position(before, after, levels[1] - levels[0], variance, series.spread)
    ratio = levels[1] / levels[0] if levels[0] > 0 else math.nan
    error = math.sqrt(
        math.pi / 2 * variance * (1 / len(before) / levels[0] ** 2 + 1 / len(after) / levels[1] ** 2)
        if levels[0] > 0 and levels[1] > 0
        else math.nan
    )
    return LevelChange(
        index=int(series.position[index]),
        low=int(series.position[max(index - reach, low)]),
        high=int(series.position[min(index + reach, high - 1)]),
        before=levels[0],
        after=levels[1],
        ratio=ratio,
        ratio_low=ratio * math.exp(-_NORMAL_95 * error),
        ratio_high=ratio * math.exp(_NORMAL_95 * error),
    )


def _limit_position(before: Floats, after: Floats, size: float, variance: float, spread: float) -> int:
    """Return how many values a change may be off, with 95 % confidence, at least 1.

    By normal noise, 11 / (size^2 / long-run variance) (Bai 1997, Review of Economics and Statistics 79). By tails, if the
    share q of values beyond the middle between both levels is more than normal noise has: j values in a row mislead with
    probability (4 q (1 - q))^(j / 2) at most (Chernoff's bound for a walk of steps +1 and -1).
    """
    if size == 0:
        return len(before) + len(after)
    middle, sign = float(np.median(before)) + size / 2, math.copysign(1.0, size)
    beyond = max(float((sign * (before - middle) > 0).mean()), float((sign * (after - middle) < 0).mean()))
    normal = 0.5 * math.erfc(abs(size) / 2 / spread / math.sqrt(2)) if spread else 0.0
    beyond = min(max(beyond - normal, 0.0), _MOST_BEYOND)
    by_tails = math.log(0.05) / math.log(4 * beyond * (1 - beyond)) * 2 if beyond else 0.0
    return int(min(max(_BAI * variance / size**2, by_tails), len(before) + len(after))) + 1


def _line_gain(series: _Series, x: Floats) -> tuple[float, float, float]:
    """Return the slope of the blocks over x, the squared error that it explains, and the sum of squares of x."""
    known = x[series.position]
    whole = len(series.blocks) * series.size
    middles = np.median(known[:whole].reshape(-1, series.size), axis=1) if series.size > 1 else known
    centred = middles - middles.mean()
    squares = float((centred**2).sum())
    if squares == 0:
        return 0.0, 0.0, 0.0
    slope = float((centred * series.blocks).sum()) / squares
    return slope, slope**2 * squares, squares


def _measure_slope(series: _Series, x: Floats, floor: float) -> Slope | None:
    """Return the slope of a series over x if it explains enough and is large enough from the first x to the last."""
    slope, explained, squares = _line_gain(series, x)
    level = float(np.median(series.values))
    known = x[series.position]
    count = len(series.blocks)
    least = max(floor * abs(level), series.spread / 4)
    if (
        level <= 0
        or explained < _find_slope_penalty(count) * series.variance
        or abs(slope) * float(known.max() - known.min()) < least
    ):
        return None
    error = _NORMAL_95 * math.sqrt(series.variance / squares)
    return Slope(slope / level, (slope - error) / level, (slope + error) / level)
