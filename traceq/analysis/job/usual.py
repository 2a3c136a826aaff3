"""What ranks usually need before a collective: the median over the copies of a stage, at the same place of their lists."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.graph import Members

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Floats, Integers

# Of fewer copies the median is that of one rank or the other: the other steps are asked as well.
_ENOUGH_COPIES = 3


def stages(units: int, members: Members, signature: Integers, pipeline: Integers) -> Integers:
    """For each rank the number of its stage: ranks whose streams hold the same `signature`s (of members) in the same order.

    And whose place in the `pipeline` is the same, where that is known.
    """
    lists: dict[tuple[object, ...], int] = {}
    order = np.lexsort((members.start, members.stream, members.unit))
    begins = np.searchsorted(members.unit[order], np.arange(units + 1))
    found = np.zeros(units, np.int64)
    for unit, (begin, end) in enumerate(pairwise(begins.tolist())):
        rows = order[begin:end]
        key = (pipeline[unit], members.stream[rows].tobytes(), signature[rows].tobytes())
        found[unit] = lists.setdefault(key, len(lists))
    return found


def ordinals(members: Members, *keys: Integers) -> Integers:
    """The number of each member among those of its rank with the same keys, in the order of time, from 0."""
    order = np.lexsort((members.start, *keys, members.unit))
    same = np.ones(len(order) - 1, bool)
    for key in (members.unit, *keys):
        same &= key[order][1:] == key[order][:-1]
    begins = np.flatnonzero(np.concatenate(([True], ~same)))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return number


def usual_own(members: Members, own: Floats, stage: Integers, step: Integers) -> tuple[Floats, Integers]:
    """For each member the median of `own` at its place, NaN where there is no other; and the member that has it.

    The place is (stage, stream, ordinal); where fewer than three ranks share it, the ordinal within the step in any step.
    """
    of_stage = stage[members.unit]
    places = numbered(of_stage, members.stream, ordinals(members, members.stream))
    middle, member, count = _medians(places, own)
    few = count < _ENOUGH_COPIES
    if few.any() and len(np.unique(step)) > 1:
        in_step = numbered(of_stage, members.stream, ordinals(members, members.stream, step))
        over_steps = _medians(in_step, own)
        middle, member, count = (
            np.where(few, other, one) for one, other in zip((middle, member, count), over_steps, strict=True)
        )
    return np.where(count > 1, middle, np.nan), member


def numbered(*keys: Integers) -> Integers:
    """For each element a number, from 0, that is the same where all keys are."""
    number: Integers = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        least = int(key.min(initial=0))
        number = _dense(number.astype(np.int64) * (int(key.max(initial=0)) - least + 1) + key - least)
    return number


def _dense(number: Integers) -> Integers:
    """The same numbers without those that do not occur."""
    if number.max(initial=0) > 8 * len(number):
        found: Integers = np.unique(number, return_inverse=True)[1]
        return found
    occurs = np.zeros(int(number.max(initial=0)) + 1, bool)
    occurs[number] = True
    return (np.cumsum(occurs, dtype=np.int32) - 1)[number]


def means(group: Integers, values: Floats) -> Floats:
    """For each element the mean of its group."""
    mean: Floats = (np.bincount(group, values) / np.maximum(np.bincount(group), 1))[group]
    return mean


def _medians(group: Integers, values: Floats) -> tuple[Floats, Integers, Integers]:
    """For each element the median of its group, the element that has it (the lower of two), and how many are in the group."""
    order = np.lexsort((values, group))
    count = np.bincount(group)
    first = np.cumsum(count) - count
    lower, upper = order[first + (count - 1) // 2], order[first + count // 2]
    middle = (values[lower] + values[upper]) / 2
    return middle[group], lower.astype(np.int32)[group], count.astype(np.int32)[group]
