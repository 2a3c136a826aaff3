"""Time of each rank by kind: own work, transfer and waiting, every nanosecond once however many streams are busy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.arrays import stable_order

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Floats, Graph, Integers


@dataclass(frozen=True)
class RankTime:
    """Time of each rank, ns: own work before collectives (`late`: of that beyond the usual), transfer, waiting for others."""

    own: Floats
    late: Floats
    transfer: Floats
    wait: Floats


def rank_time(units: int, graph: Graph, typical: Floats, transfer: Floats) -> RankTime:
    """Divide the time of each rank from its first collective on; `typical` is by member (NaN: unknown), `transfer` by collective.

    A rank that works while one of its collectives is under way does not wait: own time counts first, then transfer.
    """
    members = graph.members
    order = stable_order(members.unit)
    bounds = np.searchsorted(members.unit[order], np.arange(units + 1))
    found = np.zeros((4, units))
    # one rank at a time: of all of a large job copies would take as much memory as the job
    for unit, (first, last) in enumerate(pairwise(bounds.tolist())):
        rows = order[first:last]
        start, end, own = members.start[rows], members.end[rows], graph.own[rows]
        beyond = np.where(graph.is_first[rows], 0.0, np.maximum(own - np.nan_to_num(typical[rows], nan=np.inf), 0.0))
        works = (start - own, start)
        moves = (np.maximum(end - transfer[members.match[rows]], start), end)
        busy = _covered_ns(works, moves)
        worked, late = _covered_ns(works), _covered_ns((start - beyond, start))
        found[:, unit] = worked, late, busy - worked, _covered_ns(works, (start, end)) - busy
    return RankTime(*found)


def _covered_ns(*spans: tuple[Floats | Integers, Floats | Integers]) -> float:
    """Return how much time the spans (begins and ends, ns) cover together, each moment once."""
    begin, end = (np.concatenate([span[side] for span in spans]) for side in (0, 1))
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    until = np.maximum.accumulate(np.append(begin[:1], end))[:-1]
    return float(np.maximum(end - np.maximum(begin, until), 0).sum())
