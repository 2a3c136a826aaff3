"""Collectives that ranks do not leave together: who waits for whom in them, and for how long.

From a broadcast or a scatter all but the root go when the root has come, and the root waits for nobody. To a reduce or a gather
the root alone waits, for all. In an all-to-all every rank waits for the last one, and then needs as long as its own part takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from traceq.analysis.job.arrays import group_medians, stable_order
from traceq.analysis.job.graph import NONE, SharedArrivals

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Flags, Floats, Integers, Members

FROM_ROOT, TO_ROOT, EXCHANGE = 1, 2, 3
KINDS = {"broadcast": FROM_ROOT, "scatter": FROM_ROOT, "reduce": TO_ROOT, "gather": TO_ROOT, "all_to_all": EXCHANGE}


class UnevenCollectives(msgspec.Struct, frozen=True):
    """Collectives that ranks do not leave together, one array element each: number, kind, and root rank (-1: unknown or none)."""

    match: Integers
    kind: Integers
    root: Integers


class MemberWaits(msgspec.Struct, frozen=True):
    """Waits of the members of uneven collectives, ns.

    `rows` are these members, collective by collective, `heads` the first row of each. `wait` (NaN: the root is unknown) and
    `is_root` are by row.
    """

    uneven: UnevenCollectives
    rows: Integers
    heads: Integers
    is_root: Flags
    wait: Floats

    def find_transfers(self, members: Members) -> Floats:
        """Return the shortest time, ns, that a member of each collective needed apart from waiting."""
        dur = members.end[self.rows] - members.start[self.rows]
        shortest: Floats = np.minimum.reduceat(dur - np.nan_to_num(self.wait), self.heads)
        return shortest


class UnevenWaits(MemberWaits, frozen=True):
    """Waits in uneven collectives, and who was waited for; by collective, times in ns.

    `by_arrival` tells whether clocks told the waits. `late_unit` is the rank that was waited for, -1 where nobody was or
    nothing tells; `late_by` and `late_alone` are how much later it came than the usual rank and than the second last, NaN
    where nothing tells.
    """

    by_arrival: Flags
    late_unit: Integers
    late_by: Floats
    late_alone: Floats


def take_waits(members: Members, uneven: UnevenCollectives, wait: Floats) -> MemberWaits:
    """Return the waits of the members of uneven collectives out of `wait`, which is by member, ns."""
    rows, number, heads = _list_members(members, uneven)
    is_root = (members.unit[rows] == uneven.root[number]) & (uneven.kind[number] != EXCHANGE)
    return MemberWaits(uneven, rows, heads, is_root, wait[rows])


def measure_waits(
    members: Members, uneven: UnevenCollectives, begins: Floats, joined: Flags, limit: float
) -> UnevenWaits | None:
    """Measure how long each member of an uneven collective waits, from who came when.

    `begins` are the members' starts on the common clock, ns; `joined` tells by rank whether its clock is on it. Where a rank's
    is not the shortest duration stands for a transfer without waiting; an all-to-all is then as even as others, and left
    out. Waits up to `limit` (ns) make nobody late. None where no collective is left.
    """
    rows, number, heads = _list_members(members, uneven)
    by_arrival = np.logical_and.reduceat(joined[members.unit[rows]], heads)
    lacks_clock = (uneven.kind == EXCHANGE) & ~by_arrival
    if lacks_clock.any():
        uneven = UnevenCollectives(*(column[~lacks_clock] for column in (uneven.match, uneven.kind, uneven.root)))
        rows, number, heads = _list_members(members, uneven)
        by_arrival = by_arrival[~lacks_clock]
    if not len(rows):
        return None
    unit, start = members.unit[rows], begins[rows]
    dur = (members.end[rows] - members.start[rows]).astype(float)
    kind = uneven.kind[number]
    is_root = (unit == uneven.root[number]) & (kind != EXCHANGE)
    has_root = np.logical_or.reduceat(is_root, heads)
    is_last_for = np.where(kind == FROM_ROOT, is_root, True)
    awaited = np.maximum.reduceat(np.where(is_last_for, start, -np.inf), heads)[number] - start
    beyond = dur - np.minimum.reduceat(dur, heads)[number]
    wait = np.where(by_arrival[number], np.clip(awaited, 0.0, dur), beyond)
    wait[np.where(kind == FROM_ROOT, is_root, (kind == TO_ROOT) & ~is_root)] = 0.0
    wait[(kind != EXCHANGE) & ~has_root[number]] = np.nan
    late_unit, late_by, late_alone = _find_late(uneven, number, unit, start, wait, is_root, by_arrival, limit)
    return UnevenWaits(uneven, rows, heads, is_root, wait, by_arrival, late_unit, late_by, late_alone)


def _list_members(members: Members, uneven: UnevenCollectives) -> tuple[Integers, Integers, Integers]:
    """Return the members of uneven collectives, one collective after the other, the place of each one's in `uneven`, and heads.

    The heads are the first member of each collective in that list.
    """
    of_collective = np.full(members.collectives, NONE, np.int64)
    of_collective[uneven.match] = np.arange(len(uneven.match))
    rows = np.flatnonzero(of_collective[members.match] != NONE)
    number = of_collective[members.match[rows]]
    order = stable_order(number)
    return rows[order], number[order], np.searchsorted(number[order], np.arange(len(uneven.match)))


def _find_late(
    uneven: UnevenCollectives,
    number: Integers,
    unit: Integers,
    start: Floats,
    wait: Floats,
    is_root: Flags,
    by_arrival: Flags,
    limit: float,
) -> tuple[Integers, Floats, Floats]:
    """Return of each collective the rank that others waited for (-1: none), and by how much it was late, ns (NaN: unknown).

    The arrays `number` (place of the collective in `uneven`) to `is_root` are by member; `start` is on the common clock.
    """
    heads = np.searchsorted(number, np.arange(len(uneven.match)))
    until = np.append(heads[1:], len(number))
    order = np.lexsort((start, number))
    last, second = order[until - 1], order[np.maximum(until - 2, heads)]
    late_by = start[last] - group_medians(number, start)
    late_alone = start[last] - start[second]
    longest = np.maximum.reduceat(wait, heads)
    # only by its root others are held up, whenever they come
    from_root = uneven.kind == FROM_ROOT
    of_others = np.minimum.reduceat(np.where(is_root, np.inf, wait), heads)
    late_by = np.where(from_root, group_medians(number, wait), late_by)
    late_alone = np.where(from_root, of_others, late_alone)
    is_late = (longest > limit) & (from_root | (late_alone > limit))
    is_told = ~np.isnan(longest) & (by_arrival | from_root)
    named = np.where(from_root, uneven.root, unit[last])
    return (
        np.where(is_told & is_late, named, NONE),
        np.where(is_told, late_by, np.nan),
        np.where(is_told, late_alone, np.nan),
    )


def split_ends(members: Members, transfer: Floats, waits: MemberWaits) -> tuple[Members, SharedArrivals, Floats]:
    """Return the members with an end of their own in uneven collectives, who else arrives at each of these, and transfers, ns.

    `transfer` is by collective; the one returned is by end, in the numbers of the members returned.
    """
    uneven, rows, count = waits.uneven, waits.rows, members.collectives
    size = np.diff(np.append(waits.heads, len(rows)))
    collective, kind = np.repeat(uneven.match, size), np.repeat(uneven.kind, size)
    is_head = np.zeros(len(rows), bool)
    is_head[waits.heads] = True
    has_root = np.logical_or.reduceat(waits.is_root, waits.heads)
    keeps = np.where(np.repeat(has_root, size), waits.is_root, is_head) & (kind != EXCHANGE)
    end = np.where(keeps, collective, count + np.cumsum(~keeps) - 1)
    ends, arrivals = members.match.copy(), members.match.copy()
    ends[rows] = end
    arrivals[rows] = np.where(kind == EXCHANGE, collective, end)
    dur = (members.end[rows] - members.start[rows]).astype(float)
    found = np.concatenate([transfer, np.zeros(int(np.count_nonzero(~keeps)))])
    found[uneven.match] = 0.0
    found[end] = dur - np.nan_to_num(waits.wait)
    root = np.repeat(
        np.where(has_root, np.maximum.reduceat(np.where(waits.is_root, np.arange(len(rows)), 0), waits.heads), NONE),
        size,
    )
    waits_for = (kind == FROM_ROOT) & (root != NONE) & ~waits.is_root
    awaited = (kind == TO_ROOT) & (root != NONE) & ~waits.is_root
    relays = kind == EXCHANGE
    shared = SharedArrivals(
        arrivals,
        np.concatenate([rows[root[waits_for]], rows[awaited], rows[relays]]),
        np.concatenate([end[waits_for], end[root[awaited]], end[relays]]),
        np.concatenate([np.full(int(np.count_nonzero(waits_for | awaited)), NONE), collective[relays]]),
    )
    return replace(members, match=ends), shared, found
