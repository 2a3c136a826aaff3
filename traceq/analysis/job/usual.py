"""Usual time of ranks before a collective: the median over the copies of a stage, at the same place of their lists."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from traceq.analysis.job.arrays import group_means, groups_by_size, number_combinations
from traceq.analysis.job.graph import Members

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from traceq.analysis.job.graph import Floats, Integers, JobGraph


# Of fewer copies the median is that of one rank or the other: the other steps are asked as well.
_ENOUGH_COPIES = 3


def find_stages(units: int, members: Members, signature: Integers, pipeline: Integers) -> Integers:
    """Return each rank's stage number: ranks of a stage run the same `signature`s on the same streams in the same order.

    `signature` is by member; `pipeline` is each rank's place in the pipeline, and also the same for all ranks of a stage.
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


def number_members(members: Members, *keys: Integers) -> Integers:
    """Return the number, from 0, of each member among the members of its rank with equal `keys`, in the order of start."""
    order = np.lexsort((members.start, *keys, members.unit))
    same = np.ones(len(order) - 1, bool)
    for key in (members.unit, *keys):
        same &= key[order][1:] == key[order][:-1]
    begins = np.flatnonzero(np.concatenate(([True], ~same)))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return number


def usual_own(members: Members, own: Floats, stage: Integers, step: Integers) -> tuple[Floats, Integers]:
    """Return for each member the median of `own` (ns) over its place, NaN if alone there, and the member that has the median.

    A place is (stage, stream, ordinal). Where fewer than three ranks share it, members of all steps with the same ordinal
    in their step count. `stage` is by rank, `step` by member.
    """
    of_stage = stage[members.unit]
    places = number_combinations(of_stage, members.stream, number_members(members, members.stream))
    middle, member, count = _group_medians(places, own)
    few = count < _ENOUGH_COPIES
    if few.any() and len(np.unique(step)) > 1:
        in_step = number_combinations(of_stage, members.stream, number_members(members, members.stream, step))
        over_steps = _group_medians(in_step, own)
        middle, member, count = (
            np.where(few, other, one) for one, other in zip((middle, member, count), over_steps, strict=True)
        )
    return np.where(count > 1, middle, np.nan), member


def _group_medians(group: Integers, values: Floats) -> tuple[Floats, Integers, Integers]:
    """Return for each element the median of its group, the element that has it (the lower of two), and the size of the group."""
    count = np.bincount(group).astype(np.int32)
    middle, lower = np.zeros(len(count)), np.zeros(len(count), np.int32)
    for which, elements in groups_by_size(group):
        size = elements.shape[1]
        place = np.argsort(values[elements], axis=1, kind="stable")[:, [(size - 1) // 2, size // 2]]
        both = np.take_along_axis(elements, place, axis=1)
        middle[which], lower[which] = values[both].sum(axis=1) / 2, both[:, 0]
    return middle[group], lower[group], count[group]


class RankOperations(msgspec.Struct, frozen=True):
    """Operations of ranks between collectives, an array element each: rank, type, start and end (ns); sorted by rank and time."""

    unit: Integers
    kind: Integers
    start: Integers
    end: Integers


class UsualTimes(msgspec.Struct, frozen=True):
    """Own time of each member (ns) if every operation took the mean duration of its type.

    The mean is over all ranks in `of_all`, over the ranks of the same stage in `of_stage`.
    """

    of_all: Floats
    of_stage: Floats


def usual_of_operations(graph: JobGraph, stage: Integers, step: Integers, operations: RankOperations) -> UsualTimes:
    """Return the usual own time of each member: its operations at their types' mean, and the mean time between operations.

    Unlike medians over a stage's copies it sees stages that have more to do than others; studies of large jobs ask so.
    """
    members = graph.members
    spent = (operations.end - operations.start).astype(float)
    begins, ends = _operations_of(graph, operations)
    gap = graph.own - _sum_between(spent, begins, ends)
    place = number_combinations(stage[members.unit], members.stream, number_members(members, members.stream, step))
    between = group_means(place, gap)
    of_kind = group_means(operations.kind, spent)
    of_stage = group_means(number_combinations(stage[operations.unit], operations.kind), spent)
    return UsualTimes(_sum_between(of_kind, begins, ends) + between, _sum_between(of_stage, begins, ends) + between)


def _operations_of(graph: JobGraph, operations: RankOperations) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each member the first and last (exclusive) index of the operations whose middle lies in its own time."""
    members = graph.members
    middle = (operations.start + operations.end) // 2
    least = int(min(members.start.min(), middle.min(initial=members.start.min())))
    span = int(max(members.end.max(), middle.max(initial=0))) - least + 1
    places = operations.unit * span + middle - least
    until = members.unit.astype(np.int64) * span + members.start - least
    return np.searchsorted(places, until - graph.own.astype(np.int64)), np.searchsorted(places, until)


def _sum_between(values: Floats, begins: NDArray[np.intp], ends: NDArray[np.intp]) -> Floats:
    """Return the sums of `values` from each index in `begins` to before the one in `ends`."""
    until = np.append(0.0, np.cumsum(values))
    found: Floats = until[ends] - until[begins]
    return found
