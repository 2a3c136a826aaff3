"""Clocks of ranks, aligned by the ends of collectives: a collective ends on all its ranks at the same time.

`common time = t + origin - offset - drift * (t + origin - middle)`. Offsets and drifts are those that make the ends agree best
(weighted least squares over groups and ranks); the median rank has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from traceq.analysis.job.arrays import close_gaps, find_distinct, group_medians, stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.signedinteger[Any]]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Fewer collectives of a group on a rank tell its offset, not its drift.
_LEAST_FOR_DRIFT = 16

_ROUNDS = 500
_CLOSE_ENOUGH = 1e-12


class Clocks(msgspec.Struct, frozen=True):
    """Offset (ns), drift (ns per ns) and number of collectives of each rank's clock.

    The reference is the median of the ranks that process groups join to the rank. `joined` marks the ranks of the largest
    such set; how the clocks of two sets differ is unknown. `residual` and `usual_residual` (ns) are the 95th percentile and
    the median of how far an end of a collective is from the median of its ends, on corrected clocks.
    """

    offset: Floats
    drift: Floats
    joined: Flags
    samples: Integers
    middle: float
    residual: float
    usual_residual: float

    def to_common(self, unit: Integers, time: Floats) -> Floats:
        """Return the times (ns), one of each rank in `unit`, on the common clock of the set that process groups join the rank to.

        Times of a rank without a process group are returned unchanged.
        """
        return time - self.offset[unit] - self.drift[unit] * (time - self.middle)


def align(units: int, unit: Integers, group: Integers, match: Integers, end: Floats) -> Clocks:
    """Fit the clocks of ranks 0 to units-1 to collectives that end on all their ranks at the same time.

    The arrays have an element per slice: its rank, its process group, its collective, and its end in ns. Without slices no
    rank is joined and the residuals are NaN.
    """
    if not len(unit):
        nothing = np.zeros(units)
        return Clocks(nothing, nothing, nothing.astype(bool), nothing.astype(np.int64), 0.0, np.nan, np.nan)
    collective = close_gaps(match)
    middle = float(np.median(end))
    time = end - middle
    apart = time - (np.bincount(collective, time) / np.bincount(collective))[collective]
    pairs = close_gaps(group).astype(np.int64) * units + unit
    of_pair = close_gaps(pairs)
    pair, count = find_distinct(pairs), np.bincount(of_pair)
    level, slope, span = _fit_lines(of_pair, count, time, apart)
    ranks, groups = pair % units, pair // units
    component = find_components(units, ranks, groups)
    drift = _solve_differences(units, ranks, groups, slope, np.where(count >= _LEAST_FOR_DRIFT, count * span**2, 0.0))
    # a slope turns about the middle of the window, a level is what is left there
    offset = _solve_differences(units, ranks, groups, level, count.astype(float))
    for fitted in (drift, offset):
        for members in (np.flatnonzero(component == number) for number in range(component.max() + 1)):
            fitted[members] -= np.median(fitted[members])
        fitted[component < 0] = 0.0
    corrected = time - offset[unit] - drift[unit] * time
    apart = np.abs(corrected - group_medians(collective, corrected)[collective])
    residual, usual = float(np.percentile(apart, 95)), float(np.median(apart))
    return Clocks(offset, drift, component == 0, np.bincount(unit, minlength=units), middle, residual, usual)


def _fit_lines(of_pair: Integers, count: Integers, time: Floats, apart: Floats) -> tuple[Floats, Floats, Floats]:
    """Fit a line through `apart` (ns) over `time` for each pair of process group and rank; return levels, slopes and time spans.

    `of_pair` gives each element's pair, `count` each pair's elements. Slope and span are 0 for pairs with fewer than 16.
    """
    level, slope, span = (np.zeros(len(count)) for _ in range(3))
    for pair, mixed in enumerate(np.split(stable_order(of_pair), np.cumsum(count)[:-1])):
        rows = mixed[np.argsort(time[mixed], kind="stable")]
        half = len(rows) // 2
        early, late = rows[:half], rows[-half:]
        if len(rows) >= _LEAST_FOR_DRIFT:
            span[pair] = np.median(time[late]) - np.median(time[early])
        if span[pair] > 0:
            slope[pair] = (np.median(apart[late]) - np.median(apart[early])) / span[pair]
        level[pair] = np.median(apart[rows] - slope[pair] * time[rows])
    return level, slope, span


def _solve_differences(units: int, ranks: Integers, groups: Integers, seen: Floats, weight: Floats) -> Floats:
    """Return a value for each rank so that differences between ranks of a group come closest to `seen` (weighted least squares).

    `ranks`, `groups`, `seen` and `weight` have an element for each pair of rank and process group.
    """
    size = units + int(groups.max()) + 1

    def apply(numbers: Floats) -> Floats:
        return spread(weight * (numbers[ranks] - numbers[units + groups]))

    def spread(rows: Floats) -> Floats:
        of_rank: Floats = np.bincount(ranks, rows, size).astype(float)
        return of_rank - np.bincount(units + groups, rows, size)

    found = np.zeros(size)
    left = spread(weight * seen)
    direction, norm = left.copy(), float(left @ left)
    enough = _CLOSE_ENOUGH * norm
    for _ in range(_ROUNDS):
        if norm <= enough:
            break
        image = apply(direction)
        step = norm / float(direction @ image)
        found += step * direction
        left -= step * image
        norm, before = float(left @ left), norm
        direction = left + norm / before * direction
    return found[:units]


def find_components(units: int, ranks: Integers, groups: Integers) -> Integers:
    """Return for each rank the number of its set, where a set is the ranks that process groups join, directly or not.

    0 is the largest set; -1 stands for a rank without a group. `ranks` and `groups` have an element for each membership.
    """
    label = np.arange(units + int(groups.max()) + 1)
    while True:
        least = label.copy()
        np.minimum.at(least, ranks, label[units + groups])
        np.minimum.at(least, units + groups, label[ranks])
        least = least[least]
        if np.array_equal(least, label):
            break
        label = least
    has_any = np.zeros(units, bool)
    has_any[ranks] = True
    _, number, size = np.unique(label[:units][has_any], return_inverse=True, return_counts=True)
    place = np.empty(len(size), np.intp)
    place[np.argsort(-size, kind="stable")] = np.arange(len(size))
    component = np.full(units, -1, np.intp)
    component[has_any] = place[number]
    return component
