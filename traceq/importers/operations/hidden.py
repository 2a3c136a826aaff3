"""Barriers that a table of operations does not name: nobody goes on before the last one is there.

Inside an operation (a norm over all ranks, say): its ends agree where its starts do not. Before an operation (a loss that is
summed up): its starts agree where the ends before them do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from traceq.importers.operations.groups import Communication, number_sequences
from traceq.importers.operations.table import NONE, TimesByStep

if TYPE_CHECKING:
    from traceq.importers.operations.table import Integers, Operations

# So much better do they agree: by chance they do not.
_TIMES_BETTER = 20

# Closer than this everything agrees.
_CLOSE_NS = 1_000_000

# Two ranks, or two steps, may agree by chance.
_LEAST_RANKS = 3
_LEAST_STEPS = 3


def find_inner_barriers(operations: Operations, named: Communication) -> Communication:
    """Return the operations of all ranks that hold a barrier, as all_reduce of a group "all ranks".

    They start at different times on the ranks and end at the same time, in more than half of the cases. Operations in
    `named`, the communication known already, are left out; empty for fewer than three ranks or steps.
    """
    free = np.ones(len(operations.kind), bool)
    free[named.row] = False
    # the same operation of all ranks, once each
    _, group = np.unique(number_sequences(operations)[free], return_inverse=True)
    kind = operations.kind[free]
    begins, ends = (_spread_of(group, times[free]) for times in (operations.start, operations.end))
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
        number_sequences(operations)[row],
        operations.start[row],
        operations.end[row],
    )


class _Barrier(msgspec.Struct, frozen=True):
    """The parts of ranks in one barrier, all steps together: `row` is the operation that follows, `begin` and `end` are ns.

    A part begins when its rank arrives and ends when the rank goes on.
    """

    row: Integers
    begin: Integers
    end: Integers


def find_barriers_between(operations: Operations) -> Communication:
    """Return barriers between operations: a rank's part lasts from the end of one operation to the start of the next.

    Each is a group named "before OPERATION"; its parts have no row in the table (NONE).
    """
    came = _find_arrivals(operations)
    kinds = np.stack([operations.kind, operations.ordinal])
    places, place = np.unique(kinds, axis=1, return_inverse=True)
    found: list[_Barrier] = []
    names: list[str] = []
    for number, kind in enumerate(places[0].tolist()):
        rows = np.flatnonzero((place.reshape(-1) == number) & (came != NONE))
        barriers = _find_barriers(operations, came, rows)
        found += barriers
        name = f"before {operations.names[kind]}"
        names += [name if len(barriers) == 1 else f"{name}, group {group}" for group in range(len(barriers))]
    if not found:
        found, names = [_Barrier(*[np.zeros(0, np.int64)] * 3)], [""]
    group = np.repeat(np.arange(len(found)), [len(barrier.row) for barrier in found])
    row, begin, end = (
        np.concatenate([getattr(barrier, name) for barrier in found]) for name in ("row", "begin", "end")
    )
    sizes = np.array([len(np.unique(operations.device[barrier.row])) for barrier in found], np.int64)
    return Communication(
        np.full(len(row), NONE, np.int64),
        operations.device[row],
        ["barrier"] * len(row),
        [names[serial] for serial in group.tolist()],
        sizes[group],
        number_sequences(operations)[row],
        begin,
        end,
    )


def _find_barriers(operations: Operations, came: Integers, rows: Integers) -> list[_Barrier]:
    """Return the barriers before the operations `rows` (one of each rank and step), one per group of ranks that wait together.

    `came` is when each operation's rank arrived, ns. A barrier includes the rank that the group waits for. That rank
    may already be in a second barrier when the group goes on: its part of the first ends when the group's does.
    """
    groups = _waiting_groups(operations, came, rows)
    group = np.full(len(operations.ranks), NONE)
    for number, members in enumerate(groups):
        group[members] = number
    parts = [rows[group[operations.device[rows]] == number] for number in range(len(groups))]
    # whoever is waited for by two leaves the one first that goes on first
    parts.sort(key=lambda own: float(operations.start[own].mean()))
    arrives = came.copy() if groups else came
    found = []
    for own in parts:
        late, leaves = _find_awaited_rank(operations, came, rows, own)
        found.append((own, late, arrives[late], leaves))
        arrives[late] = np.maximum(arrives[late], leaves)
    return [
        _long_enough(np.append(own, late), np.append(arrives[own], begins), np.append(operations.start[own], leaves))
        for own, late, begins, leaves in found
    ]


def _long_enough(row: Integers, begin: Integers, end: Integers) -> _Barrier:
    """Return the barrier of those parts that take time; the others are dropped."""
    takes_time = end > begin
    return _Barrier(row[takes_time], begin[takes_time], end[takes_time])


def _find_arrivals(operations: Operations) -> Integers:
    """Return for each operation the end (ns) of the last operation of its rank and step that ended before it starts.

    NONE where no operation ended before.
    """
    place = TimesByStep(operations)
    ends = place.shift_times(operations.end)
    order = np.argsort(ends, kind="stable")
    found = np.searchsorted(ends[order], place.shift_times(operations.start), side="right") - 1
    last = order[np.maximum(found, 0)]
    is_there = (found >= 0) & (place.number[last] == place.number)
    return np.where(is_there, operations.end[last], NONE)


def _waiting_groups(operations: Operations, came: Integers, rows: Integers) -> list[Integers]:
    """Return the groups of ranks that wait for each other before the operations `rows` (one of each rank and step).

    A group is an array of device numbers. Its ranks arrive (`came`, ns) at different times and go on at the same time,
    together in more than half of the steps. Empty for fewer than three steps.
    """
    steps = np.unique(operations.step)
    if len(steps) < _LEAST_STEPS or not len(rows):
        return []
    order = rows[np.lexsort((operations.start[rows], operations.step[rows]))]
    start, step = operations.start[order], operations.step[order]
    waited = start - came[order]
    agrees = np.maximum(np.minimum(waited[1:], waited[:-1]) // _TIMES_BETTER, _CLOSE_NS)
    apart = np.append(True, (step[1:] != step[:-1]) | (start[1:] - start[:-1] > agrees))
    cluster = np.cumsum(apart) - 1
    starts, ends = _spread_of(cluster, start), _spread_of(cluster, came[order])
    waits = (ends > _TIMES_BETTER * starts) & (ends > _CLOSE_NS) & (np.bincount(cluster) >= _LEAST_RANKS)
    # of each rank and step the cluster it waits in
    waits_in = np.full((len(operations.ranks), int(operations.step.max()) + 1), NONE)
    waits_in[operations.device[order], step] = np.where(waits[cluster], cluster, NONE)
    free = (waits_in != NONE).sum(axis=1) > len(steps) / 2
    found: list[Integers] = []
    for rank in range(len(free)):
        if not free[rank]:
            continue
        alike = (waits_in == waits_in[rank]) & (waits_in[rank] != NONE)
        members = np.flatnonzero((alike.sum(axis=1) > len(steps) / 2) & free)
        if len(members) >= _LEAST_RANKS:
            found.append(members)
        free[members] = False
    return found


def _find_awaited_rank(
    operations: Operations, came: Integers, rows: Integers, own: Integers
) -> tuple[Integers, Integers]:
    """Return the rank outside of a group that the group waits for: (its operations among `rows`, when the group goes on, ns).

    `own` are the operations of the group, `came` when each operation's rank arrived. The rank arrives in each step
    before the group goes on, and in most steps so late that the group goes on almost at once. Both arrays are empty if
    there is no such rank.
    """
    count = len(operations.steps)
    goes_on, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(goes_on, operations.step[own], operations.start[own])
    np.maximum.at(last, operations.step[own], came[own])
    others = rows[np.isin(operations.step[rows], operations.step[own])]
    others = others[~np.isin(operations.device[others], operations.device[own])]
    step, device = operations.step[others], operations.device[others]
    left = goes_on[step] - came[others]
    nearly_all = _TIMES_BETTER * left < goes_on[step] - last[step]
    ranks, steps = len(operations.ranks), len(np.unique(operations.step[own]))
    fits = np.bincount(device, nearly_all, ranks) > steps / 2
    fits &= np.bincount(device, left >= 0, ranks) == steps
    if not fits.any():
        return others[:0], others[:0]
    rest = np.where(fits, np.bincount(device, left, ranks), np.inf)
    late = others[device == rest.argmin()]
    return late, goes_on[operations.step[late]]


def _spread_of(group: Integers, times: Integers) -> Integers:
    """Return, for each group, the ns from the earliest to the latest of its times.

    `group` has the group's number of each time.
    """
    count = int(group.max(initial=-1)) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, group, times)
    np.maximum.at(last, group, times)
    spread: Integers = last - first
    return spread
