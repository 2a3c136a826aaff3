"""Usual time of ranks before a collective where their operations are known: the mean of each type over all ranks.

This is the what-if of studies of large jobs: it sees stages that have more to do than others, which medians over the copies of a
stage cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.arrays import means, numbered
from traceq.analysis.job.usual import ordinals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from traceq.analysis.job.graph import Floats, Graph, Integers


@dataclass(frozen=True)
class Operations:
    """What ranks do between collectives, one element each: rank, type (0, 1, ...), start and end (ns); by rank and time."""

    unit: Integers
    kind: Integers
    start: Integers
    end: Integers


@dataclass(frozen=True)
class Usual:
    """Own time of each member (ns) if all operations of a type took as long: over all ranks, or over those of its stage only."""

    of_all: Floats
    of_stage: Floats


def usual_of_operations(graph: Graph, stage: Integers, step: Integers, operations: Operations) -> Usual:
    """Return the usual time of the members of `graph`; time between operations takes the mean of its place."""
    members = graph.members
    spent = (operations.end - operations.start).astype(float)
    begins, ends = _operations_of(graph, operations)
    gap = graph.own - _sums(spent, begins, ends)
    place = numbered(stage[members.unit], members.stream, ordinals(members, members.stream, step))
    between = means(place, gap)
    of_kind = means(operations.kind, spent)
    of_stage = means(numbered(stage[operations.unit], operations.kind), spent)
    return Usual(_sums(of_kind, begins, ends) + between, _sums(of_stage, begins, ends) + between)


def _operations_of(graph: Graph, operations: Operations) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each member the operations before it, from the first to before the last: those whose middle is in its own time."""
    members = graph.members
    middle = (operations.start + operations.end) // 2
    least = int(min(members.start.min(), middle.min(initial=members.start.min())))
    span = int(max(members.end.max(), middle.max(initial=0))) - least + 1
    places = operations.unit * span + middle - least
    until = members.unit.astype(np.int64) * span + members.start - least
    return np.searchsorted(places, until - graph.own.astype(np.int64)), np.searchsorted(places, until)


def _sums(values: Floats, begins: NDArray[np.intp], ends: NDArray[np.intp]) -> Floats:
    until = np.append(0.0, np.cumsum(values))
    found: Floats = until[ends] - until[begins]
    return found
