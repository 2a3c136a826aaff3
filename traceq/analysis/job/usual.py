"""Usual time of ranks before a collective: the median over the copies of a stage, at the same place of their lists."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.arrays import numbered, of_one_size
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
    """Return the number of each member among those of its rank with the same keys, in the order of time, from 0."""
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


def _medians(group: Integers, values: Floats) -> tuple[Floats, Integers, Integers]:
    """For each element the median of its group, the element that has it (the lower of two), and how many are in the group."""
    count = np.bincount(group).astype(np.int32)
    middle, lower = np.zeros(len(count)), np.zeros(len(count), np.int32)
    for which, elements in of_one_size(group):
        size = elements.shape[1]
        place = np.argsort(values[elements], axis=1, kind="stable")[:, [(size - 1) // 2, size // 2]]
        both = np.take_along_axis(elements, place, axis=1)
        middle[which], lower[which] = values[both].sum(axis=1) / 2, both[:, 0]
    return middle[group], lower[group], count[group]
