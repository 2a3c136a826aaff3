"""Barriers that a table of operations does not name: nobody goes on before the last one is there.

Inside an operation (a norm over all ranks, say): its ends agree where its starts do not. Before an operation (a loss that is
summed up): its starts agree where the ends before them do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traceq.importers.operations.groups import Communication, sequences
from traceq.importers.operations.table import NONE, Places

if TYPE_CHECKING:
    from traceq.importers.operations.table import Integers, Operations

# So much better do they agree: by chance they do not.
_TIMES_BETTER = 20

# Closer than this everything agrees.
_CLOSE_NS = 1_000_000

# Two ranks, or two steps, may agree by chance.
_LEAST_RANKS = 3
_LEAST_STEPS = 3


def inside(operations: Operations, named: Communication) -> Communication:
    """Operations of all ranks that hold a barrier, but for those that are `named` as communication already."""
    free = np.ones(len(operations.kind), bool)
    free[named.row] = False
    # the same operation of all ranks, once each
    _, group = np.unique(sequences(operations)[free], return_inverse=True)
    kind = operations.kind[free]
    begins, ends = (_spread(group, times[free]) for times in (operations.start, operations.end))
    holds = (begins > _TIMES_BETTER * ends) & (begins > _CLOSE_NS)
    complete = np.bincount(group) == len(operations.ranks)
    of_group = np.zeros(len(complete), np.int64)
    of_group[group] = kind
    kinds = len(operations.names)
    often = np.bincount(of_group, holds & complete, kinds) > np.bincount(of_group, minlength=kinds) / 2
    enough = len(operations.ranks) >= _LEAST_RANKS and len(np.unique(operations.step)) >= _LEAST_STEPS
    row = np.flatnonzero(free)[(often[kind] & complete[group]) if enough else np.zeros(len(kind), bool)]
    return Communication(
        row,
        operations.device[row],
        ["all_reduce"] * len(row),
        ["all ranks"] * len(row),
        np.full(len(row), len(operations.ranks)),
        sequences(operations)[row],
        operations.start[row],
        operations.end[row],
    )


def before(operations: Operations) -> Communication:
    """Barriers between operations: each rank's part lasts from the end of what it did to the start of what it does next."""
    came = _came(operations)
    kinds = np.stack([operations.kind, operations.ordinal])
    places, place = np.unique(kinds, axis=1, return_inverse=True)
    found: list[Integers] = []
    for number in range(places.shape[1]):
        rows = np.flatnonzero((place.reshape(-1) == number) & (came != NONE))
        members = _members(operations, came, rows)
        found.append(rows[np.isin(operations.device[rows], members) & (operations.start[rows] > came[rows])])
    row = np.concatenate(found)
    names = [operations.names[kind] for kind in operations.kind[row].tolist()]
    pairs = np.unique(np.stack([place.reshape(-1)[row], operations.device[row]]), axis=1)
    size = np.bincount(pairs[0], minlength=places.shape[1])[place.reshape(-1)[row]]
    return Communication(
        np.full(len(row), NONE, np.int64),
        operations.device[row],
        ["barrier"] * len(row),
        [f"before {name}" for name in names],
        size,
        sequences(operations)[row],
        came[row],
        operations.start[row],
    )


def _came(operations: Operations) -> Integers:
    """When each rank had ended all it had done in the step before the operation, ns; NONE where it had done nothing."""
    place = Places(operations)
    ends = place.of(operations.end)
    order = np.argsort(ends, kind="stable")
    found = np.searchsorted(ends[order], place.of(operations.start), side="right") - 1
    last = order[np.maximum(found, 0)]
    is_there = (found >= 0) & (place.number[last] == place.number)
    return np.where(is_there, operations.end[last], NONE)


def _members(operations: Operations, came: Integers, rows: Integers) -> Integers:
    """The ranks that wait for each other before the operations `rows`, one of each rank and step; nobody where they do not."""
    steps = np.unique(operations.step)
    if len(steps) < _LEAST_STEPS:
        return np.zeros(0, np.int64)
    order = rows[np.lexsort((operations.start[rows], operations.step[rows]))]
    start, step = operations.start[order], operations.step[order]
    apart = np.append(True, (step[1:] != step[:-1]) | (start[1:] - start[:-1] > _CLOSE_NS))[: len(order)]
    cluster = np.cumsum(apart) - 1
    if not len(order):
        return order
    starts, ends = _spread(cluster, start), _spread(cluster, came[order])
    waits = (ends > _TIMES_BETTER * starts) & (ends > _CLOSE_NS) & (np.bincount(cluster) >= _LEAST_RANKS)
    times = np.bincount(operations.device[order], waits[cluster], len(operations.ranks))
    members = np.flatnonzero(times > len(steps) / 2)
    return members if len(members) >= _LEAST_RANKS else np.zeros(0, np.int64)


def _spread(group: Integers, times: Integers) -> Integers:
    """From the first to the last of the times of each group, ns."""
    count = int(group.max(initial=-1)) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, group, times)
    np.maximum.at(last, group, times)
    spread: Integers = last - first
    return spread
