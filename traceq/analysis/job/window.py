"""One window of a job, judged: how long it took, how long it would take with usual ranks, and who makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.clocks import Clocks, align, medians
from traceq.analysis.job.graph import Graph, Members, build
from traceq.analysis.job.path import Path, critical_path
from traceq.analysis.job.stragglers import Straggler, Times, stragglers
from traceq.analysis.job.usual import stages, usual_own

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from traceq.analysis.job.graph import Flags, Floats, Integers

# Clocks and rings make ends differ: what is shorter than three times their spread is not called late.
_TIMES_RESIDUAL = 3.0
_LEAST_CLAIM_NS = 20_000.0

# A replay that is further from what was recorded promises nothing.
MOST_REPLAY_ERROR = 0.02

# For more ranks than this what each would save alone is worked out for the suspects only.
_MOST_SINGLE_RANKS = 64


@dataclass(frozen=True)
class Slices:
    """Slices of collectives that were found on several ranks, one element each. Times in ns, `origin` is added for UTC.

    `signature` is equal for collectives of one kind (operation, bytes, size of the group), `group` for those of one group;
    `step` is -1 outside steps.
    """

    members: Members
    origin: Integers
    group: Integers
    signature: Integers
    step: Integers
    tells_clock: Flags


@dataclass(frozen=True)
class Judged:
    """What is true of a window; arrays are by member, by collective (`transfer`, `common_end`) or by rank."""

    claim_limit: float
    graph: Graph
    times: Times
    typical: Floats
    typical_member: Integers
    stage: Integers
    transfer: Floats
    common_end: Floats
    dur: float
    replay_error: float
    ideal: float
    path: Path
    stragglers: Sequence[Straggler]
    wins: Floats
    steps: int


def claim_limit(clocks: Clocks) -> float:
    """What is shorter is not called late, ns."""
    return max(_LEAST_CLAIM_NS, _TIMES_RESIDUAL * float(np.nan_to_num(clocks.residual)))


def clocks_of(units: int, slices: Slices) -> Clocks:
    """The clocks of the ranks, by the collectives that end everywhere at once."""
    told = slices.tells_clock
    members = slices.members
    return align(
        units,
        members.unit[told],
        slices.group[told],
        members.match[told],
        (members.end + slices.origin)[told].astype(float),
    )


def violated(slices: Slices, clocks: Clocks) -> Integers:
    """Collectives that end on one rank before they begin on another, by more than the clocks differ.

    Collectives that end everywhere at once never do.
    """
    limit = max(_LEAST_CLAIM_NS, _TIMES_RESIDUAL * float(np.nan_to_num(clocks.usual_residual)))
    members = slices.members
    begins, ends = _common(slices, clocks)
    last_begin = np.full(members.collectives, -np.inf)
    first_end = np.full(members.collectives, np.inf)
    told = slices.tells_clock
    np.maximum.at(last_begin, members.match[told], begins[told])
    np.minimum.at(first_end, members.match[told], ends[told])
    return np.flatnonzero(last_begin > first_end + limit)


def _common(slices: Slices, clocks: Clocks) -> tuple[Floats, Floats]:
    members = slices.members
    return (
        clocks.common(members.unit, (members.start + slices.origin).astype(float)),
        clocks.common(members.unit, (members.end + slices.origin).astype(float)),
    )


def judged(
    units: int, slices: Slices, clocks: Clocks, kinds: Mapping[str, Mapping[str, Sequence[int]]]
) -> Judged | None:
    """What is true of the window; None where the collectives contradict each other. `kinds` are hosts and their ranks, say."""
    members = slices.members
    graph, circular = build(members)
    if len(circular):
        return None
    limit = claim_limit(clocks)
    begins, ends = _common(slices, clocks)
    spent = (members.end - members.start).astype(float)
    transfer = np.full(members.collectives, np.inf)
    np.minimum.at(transfer, members.match, spent)
    zero = float(begins[graph.is_first].min())
    first = np.where(graph.is_first, begins - zero, 0.0)
    common_end = medians(members.match, ends)
    stage = stages(units, members, slices.signature)
    typical, typical_member = usual_own(members, graph.own, stage, slices.step)
    late = ~graph.is_first & (graph.own - np.nan_to_num(typical, nan=np.inf) > limit)
    times = Times(units, graph, graph.own, np.where(late, typical, graph.own), first, transfer)
    nobody, everybody = np.zeros((units, 1), bool), np.ones((units, 1), bool)
    recorded = times.ends(nobody)[:, 0]
    dur = float(common_end.max() - zero)
    error = abs(float(recorded.max()) - dur) / dur if dur else 0.0
    ideal = float(times.lasts(everybody)[0])
    path = critical_path(graph, times.own, first, transfer, recorded)
    lasts = float(recorded.max())
    named = [] if error > MOST_REPLAY_ERROR else stragglers(times, _kinds(units, stage, kinds), lasts)
    wins = np.full(units, np.nan)
    if error <= MOST_REPLAY_ERROR and units <= _MOST_SINGLE_RANKS:
        wins = lasts - times.lasts(np.eye(units, dtype=bool))
    return Judged(
        claim_limit=limit,
        graph=graph,
        times=times,
        typical=typical,
        typical_member=typical_member,
        stage=stage,
        transfer=transfer,
        common_end=common_end,
        dur=dur,
        replay_error=error,
        ideal=ideal,
        path=path,
        stragglers=named,
        wins=wins,
        steps=len(np.unique(slices.step)),
    )


def _kinds(
    units: int, stage: Integers, kinds: Mapping[str, Mapping[str, Sequence[int]]]
) -> dict[str, Mapping[str, Sequence[int]]]:
    """All that may be named: ranks, hosts with several ranks, and stages where there are several."""
    found: dict[str, Mapping[str, Sequence[int]]] = {"rank": {str(unit): (unit,) for unit in range(units)}}
    found |= {kind: of_kind for kind, of_kind in kinds.items() if 1 < len(of_kind) < units}
    of_stage = _by_stage(stage)
    if 1 < len(of_stage) < units:
        found["stage"] = of_stage
    return found


def _by_stage(stage: NDArray[np.int64]) -> dict[str, tuple[int, ...]]:
    return {str(each): tuple(np.flatnonzero(stage == each).tolist()) for each in np.unique(stage).tolist()}
