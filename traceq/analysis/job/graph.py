"""What each collective of a job follows on each of its ranks, and when it would begin if ranks were faster.

A rank arrives at a collective when it has finished the collectives that this one follows, and its own work after them. A
collective ends when the last rank has arrived and the transfer is done. All times are durations on the clock of one rank: the
replay needs no common clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

NONE = -1

# A collective that ends so little after another one begins has still been waited for: clocks of GPUs tick in microseconds.
_SLACK_NS = 2_000


@dataclass(frozen=True)
class Members:
    """Slices of collectives, one array element each: rank, stream (0, 1, ... within the rank), start and end (ns), collective.

    `blocks` is whether the rank's other streams waited for it. `collectives` are numbered from 0.
    """

    unit: Integers
    stream: Integers
    start: Integers
    end: Integers
    match: Integers
    blocks: Flags

    @property
    def collectives(self) -> int:
        """How many collectives."""
        return int(self.match.max()) + 1 if len(self.match) else 0


@dataclass(frozen=True)
class Graph:
    """Members in the order in which they can be replayed: level by level, those of a collective beside each other.

    `order` has the place of each in Members; `follows` (rows as in `order`) the collectives that each follows, the number of
    collectives for none. Level `i` is rows `bounds[i]` to `bounds[i + 1]`. `own` is the rank's time from the end of what it
    follows to its start, ns; where it follows nothing (`is_first`) 0. `latest` is the member that ended last of those it follows.
    """

    members: Members
    order: Integers
    follows: Integers
    bounds: Integers
    own: Floats
    latest: Integers
    is_first: Flags


def build(members: Members) -> tuple[Graph, Integers]:
    """The graph, and the collectives that follow themselves, which only wrong matches do: empty, or no graph of any use."""
    before = _predecessors(members)
    level = _levels(members, before)
    circular = np.flatnonzero(level == NONE)
    count = members.collectives
    order = np.lexsort((members.match, level[members.match]))
    ordered = before[order]
    follows = np.where(ordered == NONE, count, members.match[ordered])
    bounds = np.searchsorted(level[members.match][order], np.arange(level.max() + 2)) if count else np.zeros(1, int)
    ends = np.where(before == NONE, np.iinfo(np.int64).min, members.end[before])
    column = ends.argmax(axis=1)
    latest = before[np.arange(len(before)), column]
    is_first = latest == NONE
    own = np.where(is_first, 0, np.maximum(members.start - members.end[latest], 0)).astype(float)
    return Graph(members, order, follows, bounds, own, latest, is_first), circular


def _predecessors(members: Members) -> Integers:
    """For each member those it follows, NONE for none; shape: members x most of them.

    They are the one before it on its stream, and of each other stream the last one that the rank waited for.
    """
    count = len(members.unit)
    least = int(members.start.min(initial=0))
    span = int(members.end.max(initial=0)) - least + _SLACK_NS + 1
    starts = members.unit * span + (members.start - least)
    ends = members.unit * span + (members.end - least)
    columns = [_on_own_stream(members)]
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
        columns.append(np.where(fits, found, NONE))
    used = [column for column in columns[1:] if (column != NONE).any()]
    return np.stack([columns[0], *used], axis=1) if count else np.zeros((0, 1), np.int64)


def _on_own_stream(members: Members) -> Integers:
    order = np.lexsort((members.end, members.start, members.stream, members.unit))
    same = (members.unit[order][1:] == members.unit[order][:-1]) & (
        members.stream[order][1:] == members.stream[order][:-1]
    )
    before = np.full(len(order), NONE, np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before


def _levels(members: Members, before: Integers) -> Integers:
    """The level of each collective: one more than the highest it follows. NONE for those that follow themselves."""
    count = members.collectives
    member, column = np.nonzero(before != NONE)
    first, then = members.match[before[member, column]], members.match[member]
    different = first != then
    first, then = first[different], then[different]
    order = np.argsort(first, kind="stable")
    first, then = first[order], then[order]
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


def replay(graph: Graph, own: Floats, usual: Floats, first: Floats, transfer: Floats, cut: Flags) -> Floats:
    """When each collective ends in each scenario, ns. Shape: collectives x scenarios.

    A scenario is a column of `cut`: ranks (rows) whose time before collectives is `usual` instead of `own`. `first` is when
    members that follow nothing arrive; `transfer` is by collective.
    """
    members, scenarios = graph.members, cut.shape[1]
    ends = np.full((members.collectives + 1, scenarios), -np.inf)
    match, unit = members.match[graph.order], members.unit[graph.order]
    slow, quick = own[graph.order], usual[graph.order]
    arrives, is_first = first[graph.order], graph.is_first[graph.order]
    for begin, end in zip(graph.bounds[:-1].tolist(), graph.bounds[1:].tolist(), strict=True):
        spent = np.where(cut[unit[begin:end]], quick[begin:end, None], slow[begin:end, None])
        arrival = ends[graph.follows[begin:end]].max(axis=1) + spent
        arrival[is_first[begin:end]] = arrives[begin:end][is_first[begin:end], None]
        here = match[begin:end]
        heads = np.flatnonzero(np.concatenate(([True], here[1:] != here[:-1])))
        ends[here[heads]] = np.maximum.reduceat(arrival, heads, axis=0) + transfer[here[heads], None]
    return ends[:-1]
