"""The critical path of a job: what everybody waited for, from the last collective back to the first arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.graph import NONE

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Floats, Graph, Integers


@dataclass(frozen=True)
class Path:
    """`members` are those that came last at the collectives on the path, in the order of time; what it is made of in ns.

    `late_start` is when the first of them arrived; own times (of all but the first) and transfers add up to the rest.
    """

    members: Integers
    late_start: float
    own: float
    transfer: float


def critical_path(graph: Graph, own: Floats, first: Floats, transfer: Floats, ends: Floats) -> Path:
    """The path of a replay: `own`, `first` and `transfer` are what it ran with, `ends` is when collectives ended in it."""
    members = graph.members
    follows = np.full((len(members.unit), graph.follows.shape[1]), members.collectives)
    follows[graph.order] = graph.follows
    known = np.append(ends, -np.inf)
    before = known[follows]
    arrival = np.where(graph.is_first, first, before.max(axis=1) + own)
    latest = _latest(members.match, arrival)
    found = []
    match = int(ends.argmax())
    while True:
        member = int(latest[match])
        found.append(member)
        if graph.is_first[member]:
            break
        match = int(follows[member, before[member].argmax()])
    found.reverse()
    path = np.array(found)
    return Path(
        path,
        late_start=float(first[path[0]]),
        own=float(own[path[1:]].sum()),
        transfer=float(transfer[members.match[path]].sum()),
    )


def _latest(match: Integers, arrival: Floats) -> Integers:
    """For each collective the member that arrives last."""
    order = np.lexsort((arrival, match))
    last = np.flatnonzero(np.append(match[order][1:] != match[order][:-1], True))
    found = np.full(int(match.max()) + 1, NONE, np.int64)
    found[match[order[last]]] = order[last]
    return found
