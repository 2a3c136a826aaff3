"""How the time of each rank divides: own work, transfer and waiting, every nanosecond once however many streams are busy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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

    A rank that works while a collective of its is under way does not wait: own time counts first, then transfer.
    """
    members = graph.members
    start, end = members.start.astype(float), members.end.astype(float)
    beyond = np.where(graph.is_first, 0.0, np.maximum(graph.own - np.nan_to_num(typical, nan=np.inf), 0.0))
    works = (start - graph.own, start)
    moves = (np.maximum(end - transfer[members.match], start), end)
    late = _covered(units, members.unit, (start - beyond, start))
    own = _covered(units, members.unit, works)
    busy = _covered(units, members.unit, works, moves)
    everything = _covered(units, members.unit, works, (start, end))
    return RankTime(own, late, busy - own, everything - busy)


def _covered(units: int, unit: Integers, *spans: tuple[Floats, Floats]) -> Floats:
    """How much time the spans (begin and end by member) of each rank cover together, ns."""
    begin, end = (np.concatenate([span[side] for span in spans]) for side in (0, 1))
    of_unit = np.tile(unit, len(spans))
    order = np.lexsort((begin, of_unit))
    # one rank after the other on one line
    shift = of_unit[order] * (end.max() - begin.min()) - begin.min()
    begin, end = begin[order] + shift, end[order] + shift
    until = np.maximum.accumulate(np.append(0.0, end))[:-1]
    new = np.maximum(end - np.maximum(begin, until), 0.0)
    covered: Floats = np.bincount(of_unit[order], new, units).astype(float)
    return covered
