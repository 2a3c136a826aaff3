"""Stages of a pipeline: their order by who sends to whom, and what is lost because one has more to do than the others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, starmap
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from traceq.analysis.job.arrays import measure_coverage, stable_order
from traceq.analysis.job.graph import NONE
from traceq.analysis.job.stragglers import WORTH_NAMING, FoundStraggler

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Flags, Floats, Integers, Members
    from traceq.analysis.job.stragglers import JobTimes


# Of stages of one rank each the slow one works so many times as long as the median of the others.
_CLEARLY_MORE = 1.05
# A stage that stands out so clearly is named from this share of the job's time on.
_WORTH_SPREADING = 0.005


class StageImbalance(msgspec.Struct, frozen=True):
    """The saving in ns if all pipeline stages had equal own time, and the slow stage that holds up the others (None: none does).

    `stages` maps stage numbers, as text, to ranks. `stage_share` is the part of all possible saving that usual ranks in the
    slow stage would bring (0 to 1); NaN without tables of operations.
    """

    stages: Mapping[str, tuple[int, ...]]
    stage_win: float
    slow_stage: int | None
    stage_share: float = np.nan

    def as_straggler(self) -> list[FoundStraggler]:
        """Return the slow stage as a list of one straggler; empty without one."""
        if self.slow_stage is None:
            return []
        label = str(self.slow_stage)
        return [FoundStraggler("stage", label, self.stages[label], self.stage_win, self.stage_win)]

    def by_operation(self, times: JobTimes, lasts: float, ideal: float) -> StageImbalance:
        """Return the imbalance with the slow stage replaced by the stage that saves most if its ranks are usual.

        Its `stage_share` is of the possible saving, `lasts` - `ideal` ns. If that is under 1 % of `lasts` no stage is slow.
        """
        if lasts - ideal < WORTH_NAMING * lasts:
            return replace(self, slow_stage=None)
        cut = np.zeros((times.units, len(self.stages)), bool)
        for column, units in enumerate(self.stages.values()):
            cut[list(units), column] = True
        saved = lasts - times.lasts(cut)
        best = int(saved.argmax())
        return replace(self, slow_stage=int(list(self.stages)[best]), stage_share=float(saved[best] / (lasts - ideal)))


def saving_if_balanced(times: JobTimes, own: Floats, stage: Integers, lasts: float) -> StageImbalance:
    """Return the imbalance of the stages of a job that lasts `lasts` ns: a replay with equal own time in all stages.

    `own` (ns, each moment once) and `stage` are by rank. Only where the saving is 1 % or more is the stage with most own
    time slow.
    """
    of_stage = np.bincount(stage, own) / np.bincount(stage)
    scaled = times.own * (of_stage.mean() / np.maximum(of_stage, 1.0))[stage[times.graph.members.unit]]
    nobody = np.zeros((times.units, 1), bool)
    win = lasts - float(replace(times, own=scaled).lasts(nobody)[0])
    return StageImbalance(ranks_by_stage(stage), win, int(of_stage.argmax()) if win >= WORTH_NAMING * lasts else None)


def find_single_ranks(pipeline: Integers) -> bool:
    """Return whether each stage of the pipeline is one rank: its places (by rank) are 0, 1, ... to the number of ranks."""
    return len(pipeline) > 1 and bool((np.sort(pipeline) == np.arange(len(pipeline))).all())


def saving_if_spread(times: JobTimes, own: Floats, stage: Integers, step: Integers, lasts: float) -> StageImbalance:
    """Return the imbalance of a pipeline whose stages are one rank each: what the longest has more is spread over all.

    More is what its own time has beyond the median of the other stages, so that a stage that is shorter than all others makes
    none of them slow. There are no copies of a stage to tell chance from work: the stage is slow only where that is 5 %
    or more, it has the longest own time in most steps, and 0.5 % of `lasts` (ns) is saved. `own` (ns) and `stage` are by
    rank, `step` by member.
    """
    slow = int(own.argmax())
    usual = float(np.median(np.delete(own, slow)))
    spread = (own[slow] - usual) / times.units
    wanted = own + spread
    wanted[slow] = usual + spread
    scaled = times.own * (wanted / np.maximum(own, 1.0))[times.graph.members.unit]
    nobody = np.zeros((times.units, 1), bool)
    win = lasts - float(replace(times, own=scaled).lasts(nobody)[0])
    of_steps = _own_by_step(times, step)
    is_longest = of_steps[slow] > np.delete(of_steps, slow, axis=0).max(axis=0)
    is_slow = (
        own[slow] > _CLEARLY_MORE * usual and 2 * is_longest.sum() > len(is_longest) and win >= _WORTH_SPREADING * lasts
    )
    return StageImbalance(ranks_by_stage(stage), win, int(stage[slow]) if is_slow else None)


def _own_by_step(times: JobTimes, step: Integers) -> Floats:
    """Return the own time of each rank in each step, ns (array: ranks x steps), each moment once; `step` is by member."""
    members = times.graph.members
    steps, number = np.unique(step, return_inverse=True)
    cell = members.unit * len(steps) + number
    order = stable_order(cell)
    bounds = np.searchsorted(cell[order], np.arange(times.units * len(steps) + 1))
    start, own = members.start[order], times.own[order]
    found = [
        measure_coverage((start[rows] - own[rows], start[rows])) for rows in starmap(slice, pairwise(bounds.tolist()))
    ]
    return np.array(found).reshape(times.units, len(steps))


def ranks_by_stage(stage: Integers) -> dict[str, tuple[int, ...]]:
    """Return the ranks of each stage, by the stage's number as text; `stage` is by rank."""
    return {str(number): tuple(np.flatnonzero(stage == number).tolist()) for number in np.unique(stage).tolist()}


def find_depths(units: int, members: Members, is_send: Flags, is_between: Flags) -> Integers:
    """Return each rank's place in its pipeline, 0 for the ranks that send first; -1 where the place is unknown.

    A rank is one place behind the rank that sends it its first message. `is_between` marks the members that send or receive.
    """
    rows = np.flatnonzero(is_between)
    rows = rows[np.lexsort((members.start[rows], members.unit[rows]))]
    sender = np.full(members.collectives, NONE, np.int64)
    sender[members.match[is_send]] = members.unit[is_send]
    # whom each rank gets its first message from; itself where it sends first
    source = np.full(units, NONE, np.int64)
    heads = rows[np.unique(members.unit[rows], return_index=True)[1]]
    source[members.unit[heads]] = np.where(is_send[heads], members.unit[heads], sender[members.match[heads]])
    depth = np.where(source == np.arange(units), 0, NONE)
    for _ in range(units):
        before = np.where(source == NONE, NONE, depth[source])
        found = (depth == NONE) & (before != NONE)
        if not found.any():
            break
        depth = np.where(found, before + 1, depth)
    return depth
