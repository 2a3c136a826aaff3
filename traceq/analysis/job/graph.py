"""The graph of a job's collectives: the predecessor on each rank, and when each would begin if ranks were faster.

A rank arrives at a collective when it has finished the collectives that this one follows, and its own work after them. A
collective ends when the last rank has arrived and the transfer is done. All times are durations on the clock of one rank: the
replay needs no common clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from traceq.analysis.job.arrays import find_distinct, stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.signedinteger[Any]]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


NONE = -1

# A collective that ends so little after another one begins has still been waited for: clocks of GPUs tick in microseconds.
_SLACK_NS = 2_000


class Members(msgspec.Struct, frozen=True):
    """Slices of collectives, one array element each: rank, stream (0, 1, ... within the rank), start and end (ns), collective.

    `blocks` tells whether the rank's other streams waited for the slice. Collectives (`match`) are numbered from 0.
    """

    unit: Integers
    stream: Integers
    start: Integers
    end: Integers
    match: Integers
    blocks: Flags

    @property
    def collectives(self) -> int:
        """The number of collectives: the largest number in `match` plus 1."""
        return int(self.match.max()) + 1 if len(self.match) else 0


class SharedArrivals(msgspec.Struct, frozen=True):
    """Ends of collectives that ranks leave one by one, and the members that arrive at each; `match` in Members is the end.

    `arrivals` is the end at which each member arrives. Further rows have a `member` that arrives at another `end` as well; or,
    where `behind` is not -1, wait without work of their own for the end `behind`.
    """

    arrivals: Integers
    member: Integers
    end: Integers
    behind: Integers


class JobGraph(msgspec.Struct, frozen=True):
    """Collectives' members in the order of a replay: level by level, the members of a collective side by side.

    `order` is each row's index in Members; `relays` marks rows that only wait for what they follow, None without any.
    Collectives are renumbered in this order: `heads` is the first row of each, `collectives` its number in Members. `follows`
    has several arrays: the collectives that each row follows, where the number of collectives stands for none. Level `i` is the
    collectives `bounds[i]` to `bounds[i + 1]`. `own`, `latest` and `is_first` are by member as in Members. `own` is the rank's
    time from the end of the last collective that the member follows to the member's start, ns; 0 where it follows none
    (`is_first`). `latest` is the member that ended last among those that it follows, -1 for none.
    """

    members: Members
    order: Integers
    heads: Integers
    collectives: Integers
    follows: Sequence[Integers]
    bounds: Integers
    own: Floats
    latest: Integers
    is_first: Flags
    relays: Flags | None = None


def build_graph(members: Members, shared: SharedArrivals | None = None) -> tuple[JobGraph, Integers]:
    """Return the graph, and the numbers of the collectives that precede themselves.

    Such cycles come from collectives that were matched wrongly; with any of them the graph is unusable. `shared` is not None
    where `match` is the ends of collectives that ranks do not leave together (traceq/analysis/job/uneven.py).
    """
    before = _find_predecessors(members)
    level = _find_levels(members, before, shared)
    count = members.collectives
    collectives = np.argsort(level, kind="stable")
    number = np.empty(count + 1, np.int32)
    number[collectives], number[count] = np.arange(count), count
    of_row = number[members.match if shared is None else np.concatenate([shared.arrivals, shared.end])]
    rows = stable_order(of_row)
    heads = np.searchsorted(of_row[rows], np.arange(count + 1))
    order = rows if shared is None else np.concatenate([np.arange(len(members.unit)), shared.member])[rows]
    follows = [number[np.where(column == NONE, count, members.match[column])[order]] for column in before]
    relays = None
    if shared is not None:
        behind = np.concatenate([np.full(len(members.unit), NONE), shared.behind])[rows]
        relays = behind != NONE
        for place, column in enumerate(follows):
            column[relays] = number[behind[relays]] if place == 0 else count
    bounds = np.searchsorted(level[collectives], np.arange(level.max(initial=NONE) + 2))
    latest = before[0]
    for column in before[1:]:
        ends = (np.where(one == NONE, np.iinfo(np.int64).min, members.end[one]) for one in (latest, column))
        latest = np.where(np.less(*ends), column, latest)
    is_first = latest == NONE
    own = np.where(is_first, 0, np.maximum(members.start - members.end[latest], 0)).astype(float)
    circular = np.flatnonzero(level == NONE)
    return JobGraph(members, order, heads, collectives, follows, bounds, own, latest, is_first, relays), circular


def _find_predecessors(members: Members) -> list[Integers]:
    """Return the predecessors of each member as several arrays of members, NONE where a member has fewer.

    They are the member before it on its stream, and on each other stream the last blocking member that had ended when it began.
    """
    least = int(members.start.min(initial=0))
    span = int(members.end.max(initial=0)) - least + _SLACK_NS + 1
    of_unit = members.unit.astype(np.int64) * span - least
    starts, ends = of_unit + members.start, of_unit + members.end
    columns = [_predecessor_on_stream(members)]
    for stream in range(int(members.stream.max(initial=NONE)) + 1):
        # what is shorter than the slack might begin after what it is to precede
        long_enough = members.end - members.start > _SLACK_NS
        candidates = np.flatnonzero((members.stream == stream) & members.blocks & long_enough)
        candidates = candidates[np.argsort(ends[candidates], kind="stable")]
        place = np.searchsorted(ends[candidates], starts + _SLACK_NS, side="right") - 1
        if not len(candidates):
            continue
        found = candidates[np.maximum(place, 0)]
        fits = (place >= 0) & (members.unit[found] == members.unit) & (members.stream != stream)
        columns.append(np.where(fits, found, NONE).astype(np.int32))
    return [columns[0], *(column for column in columns[1:] if (column != NONE).any())]


def _predecessor_on_stream(members: Members) -> Integers:
    """Return for each member the member before it on the same rank and stream; NONE for the first."""
    order = np.lexsort((members.end, members.start, members.stream, members.unit))
    same = (members.unit[order][1:] == members.unit[order][:-1]) & (
        members.stream[order][1:] == members.stream[order][:-1]
    )
    before = np.full(len(order), NONE, np.int32)
    before[order[1:][same]] = order[:-1][same]
    return before


def _find_levels(members: Members, before: Sequence[Integers], shared: SharedArrivals | None) -> Integers:
    """Return each collective's level, one above the highest level of all collectives it follows.

    It is 0 for a collective that follows none, NONE for those in a cycle or behind one. `before` holds predecessors of members.
    """
    count = members.collectives
    arrivals = members.match if shared is None else shared.arrivals
    # many members of a collective follow the same one
    found = [_follow_pairs(members.match, column, arrivals, count) for column in before]
    if shared is not None:
        also = shared.behind == NONE
        member, end = shared.member[also], shared.end[also]
        found += [_follow_pairs(members.match, column[member], end, count) for column in before]
        found.append(shared.behind[~also].astype(np.int64) * count + shared.end[~also])
    pairs = find_distinct(np.concatenate(found))
    first, then = pairs // max(count, 1), pairs % max(count, 1)
    begins = np.searchsorted(first, np.arange(count + 1))
    waits_for = np.bincount(then, minlength=count)
    level = np.full(count, NONE, np.int64)
    now, number = np.flatnonzero(waits_for == 0), 0
    while len(now):
        level[now] = number
        number += 1
        counts = begins[now + 1] - begins[now]
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        reached, times = np.unique(then[np.repeat(begins[now], counts) + offsets], return_counts=True)
        waits_for[reached] -= times
        now = reached[waits_for[reached] == 0]
    return level


def _follow_pairs(match: Integers, before: Integers, arrivals: Integers, count: int) -> Integers:
    """Return each pair of different collectives of which the second follows the first, as one number: first * count + second.

    `match` is the collective of each member; `before` and `arrivals` are the preceding member and the collective of each row;
    `count` is the number of collectives.
    """
    row = np.flatnonzero(before != NONE)
    first, then = match[before[row]], arrivals[row]
    different = first != then
    return find_distinct(first[different].astype(np.int64) * count + then[different])


def replay(graph: JobGraph, own: Floats, usual: Floats, first: Floats, transfer: Floats, cut: Flags) -> Floats:
    """Return when each collective ends in each scenario, ns (array: collectives as in Members x scenarios).

    A scenario is a column of `cut` (ranks x scenarios): the ranks it marks take `usual` instead of `own` before
    collectives. `own` and `usual` are by member; `first` is the arrival of members that follow nothing; `transfer` is by
    collective. All are in ns.
    """
    return lay_out_rows(graph, own, usual, first, transfer).ends(cut)


def lay_out_rows(graph: JobGraph, own: Floats, usual: Floats, first: Floats, transfer: Floats) -> ReplayRows:
    """Return the times arranged in the order of a replay, for several replays of the same times; parameters as of replay()."""
    count = len(graph.collectives)
    is_first = graph.is_first[graph.order]
    slow = np.where(is_first, first[graph.order], own[graph.order])
    quick = usual[graph.order]
    if graph.relays is not None:
        is_first &= ~graph.relays
        slow[graph.relays] = quick[graph.relays] = 0.0
    differs = np.flatnonzero(~is_first & (slow != quick))
    # who follows nothing follows the beginning of time, at 0
    follows = [np.where(is_first, count + 1, graph.follows[0]), *graph.follows[1:]]
    starts = graph.heads[graph.bounds]
    used = [np.add.reduceat(np.append(follow != count, 0), starts)[:-1] > 0 for follow in follows[1:]] if count else []
    return ReplayRows(
        graph,
        follows,
        used,
        slow,
        differs,
        np.searchsorted(differs, starts),
        quick[differs],
        graph.members.unit[graph.order[differs]],
        transfer[graph.collectives],
    )


class ReplayRows(msgspec.Struct, frozen=True):
    """Times in the order of a replay, ns: `slow` by row; `quick` and `unit` for the rows whose times differ (`differs`).

    `bounds` are where each level begins in `differs`; `used` tells for which levels the second and further arrays of
    `follows` matter. `transfer` is by collective, as the graph numbers them.
    """

    graph: JobGraph
    follows: Sequence[Integers]
    used: Sequence[Flags]
    slow: Floats
    differs: Integers
    bounds: Integers
    quick: Floats
    unit: Integers
    transfer: Floats

    def ends(self, cut: Flags) -> Floats:
        """Return when each collective ends in each scenario, ns (array: collectives as in Members x scenarios).

        A scenario is a column of `cut` (ranks x scenarios): the ranks it marks take their usual time.
        """
        graph, count = self.graph, len(self.graph.collectives)
        ends = np.full((count + 2, cut.shape[1]), -np.inf)
        ends[count + 1] = 0.0
        heads, bounds, changes = graph.heads.tolist(), graph.bounds.tolist(), self.bounds.tolist()
        for level, (begin, end) in enumerate(pairwise(bounds)):
            rows = slice(heads[begin], heads[end])
            arrival = ends.take(self.follows[0][rows], axis=0)
            for column, used in zip(self.follows[1:], self.used, strict=True):
                if used[level]:
                    np.maximum(arrival, ends.take(column[rows], axis=0), out=arrival)
            here = slice(changes[level], changes[level + 1])
            changed = self.differs[here] - rows.start
            quicker = arrival[changed] + self.quick[here, None]
            arrival += self.slow[rows, None]
            if len(changed):
                arrival[changed] = np.where(cut[self.unit[here]], quicker, arrival[changed])
            np.maximum.reduceat(arrival, graph.heads[begin:end] - rows.start, axis=0, out=ends[begin:end])
            ends[begin:end] += self.transfer[begin:end, None]
        found = np.empty((count, cut.shape[1]))
        found[graph.collectives] = ends[:count]
        return found


class JobPath(msgspec.Struct, frozen=True):
    """The critical path of a job: `members` are the last to arrive at each of its collectives, in the order of time.

    Its length in ns is `late_start`, when the first of them arrived, plus own times (of all but the first) plus transfers.
    """

    members: Integers
    late_start: float
    own: float
    transfer: float


def critical_path(graph: JobGraph, own: Floats, first: Floats, transfer: Floats, ends: Floats) -> JobPath:
    """Return the critical path, from the collective that ends last back to a member that follows nothing.

    `ends` are the ends of collectives in a replay with `own` (by member), `first` (arrivals of members that follow nothing)
    and `transfer` (by collective); all in ns.
    """
    number = np.empty_like(graph.collectives)
    number[graph.collectives] = np.arange(len(number))
    known = np.append(ends[graph.collectives], -np.inf)
    found = []
    moved = 0.0
    collective = int(number[ends.argmax()])
    while True:
        rows = slice(graph.heads[collective], graph.heads[collective + 1])
        moved += float(transfer[graph.collectives[collective]])
        if graph.relays is not None and graph.relays[rows.start]:
            collective = int(graph.follows[0][rows.start])
            continue
        members = graph.order[rows]
        before = np.stack([known[follow[rows]] for follow in graph.follows])
        arrival = np.where(graph.is_first[members], first[members], before.max(axis=0) + own[members])
        last = len(arrival) - 1 - int(arrival[::-1].argmax())
        found.append(int(members[last]))
        if graph.is_first[members[last]]:
            break
        collective = int(graph.follows[int(before[:, last].argmax())][rows.start + last])
    found.reverse()
    path = np.array(found)
    return JobPath(
        path,
        late_start=float(first[path[0]]),
        own=float(own[path[1:]].sum()),
        transfer=moved,
    )
