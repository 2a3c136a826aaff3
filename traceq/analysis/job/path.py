"""The critical path of a job: what everybody waited for, from the last collective back to the first arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Floats, Integers, JobGraph


@dataclass(frozen=True)
class JobPath:
    """`members` are those that came last at the collectives on the path, in the order of time; what it is made of in ns.

    `late_start` is when the first of them arrived; own times (of all but the first) and transfers add up to the rest.
    """

    members: Integers
    late_start: float
    own: float
    transfer: float


def critical_path(graph: JobGraph, own: Floats, first: Floats, transfer: Floats, ends: Floats) -> JobPath:
    """Return the path of a replay: `own`, `first` and `transfer` are what it ran with, `ends` is when collectives ended in it."""
    match = graph.members.match
    number = np.empty_like(graph.collectives)
    number[graph.collectives] = np.arange(len(number))
    known = np.append(ends[graph.collectives], -np.inf)
    found = []
    collective = int(number[ends.argmax()])
    while True:
        rows = slice(graph.heads[collective], graph.heads[collective + 1])
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
        transfer=float(transfer[match[path]].sum()),
    )
