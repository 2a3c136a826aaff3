"""One window of a job, judged: how long it took, how long it would take with usual ranks, and who makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.job.arrays import close_gaps, group_medians, stable_order
from traceq.analysis.job.clocks import Clocks, align, find_components
from traceq.analysis.job.graph import JobGraph, JobPath, Members, build_graph, critical_path
from traceq.analysis.job.pipelines import StageImbalance, find_depths, ranks_by_stage, saving_if_balanced
from traceq.analysis.job.stragglers import WORTH_NAMING, FoundStraggler, JobTimes, blame_of_ranks, find_stragglers
from traceq.analysis.job.usual import UsualTimes, find_stages, usual_of_operations, usual_own

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Flags, Floats, Integers
    from traceq.analysis.job.usual import RankOperations


@dataclass(frozen=True)
class RankTime:
    """Time of each rank, ns: own work before collectives (`late`: of that beyond the usual), transfer, waiting for others."""

    own: Floats
    late: Floats
    transfer: Floats
    wait: Floats


def divide_rank_time(units: int, graph: JobGraph, typical: Floats, transfer: Floats) -> RankTime:
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
        busy = _measure_coverage(works, moves)
        worked, late = _measure_coverage(works), _measure_coverage((start - beyond, start))
        found[:, unit] = worked, late, busy - worked, _measure_coverage(works, (start, end)) - busy
    return RankTime(*found)


def _measure_coverage(*spans: tuple[Floats | Integers, Floats | Integers]) -> float:
    """Return how much time the spans (begins and ends, ns) cover together, each moment once."""
    begin, end = (np.concatenate([span[side] for span in spans]) for side in (0, 1))
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    until = np.maximum.accumulate(np.append(begin[:1], end))[:-1]
    return float(np.maximum(end - np.maximum(begin, until), 0).sum())


# Clocks and rings make ends differ: what is shorter than three times their spread is not called late.
_TIMES_RESIDUAL = 3.0
_LEAST_CLAIM_NS = 20_000.0

# A replay that is further from what was recorded promises nothing.
MOST_REPLAY_ERROR = 0.02

# Where nobody holds up the critical path for more than this share of what is beyond the usual, it is one rank now and another
# one then. Nor by more than three standard deviations, if the late one of each step is drawn; in fewer steps anybody may be.
_MOST_OF_ONE = 0.2
_DEVIATIONS = 3.0
_LEAST_STEPS = 8

# For more ranks than this what each would save alone is worked out for the suspects only.
_MOST_SINGLE_RANKS = 64

# Studies of large jobs ask what the slowest 3 % of the ranks cost.
_SLOWEST = 0.03


@dataclass(frozen=True)
class JobSlices:
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
    is_barrier: Flags
    is_send: Flags
    is_between: Flags


@dataclass(frozen=True)
class Ranks:
    """Facts on the ranks 0..count-1 beside their collectives.

    `pipeline` is the stage of each as the source says, -1 where it does not; `hosts` are the ranks of each host; `operations`
    what they do between collectives, None where the source is no table of operations.
    """

    count: int
    pipeline: Integers
    hosts: Mapping[str, Sequence[int]]
    operations: RankOperations | None = None


@dataclass(frozen=True)
class _ComparedRanks:
    """A job's times, and what is usual: by member (`typical`, and the member that has it), rank (`stage`), collective (transfer).

    `by_operation` is what tables of operations tell. `has_order` is whether the stages are those of a pipeline.
    """

    times: JobTimes
    typical: Floats
    typical_member: Integers
    stage: Integers
    ideal_transfer: Floats
    by_operation: UsualTimes | None
    has_order: bool

    @property
    def tells_stages(self) -> bool:
        """Whether there are several stages, and one of several ranks."""
        return 1 < len(np.unique(self.stage)) < self.times.units


@dataclass(frozen=True)
class JudgedWindow:
    """Findings on one window of a job; arrays are by member, by collective (`transfer`, `common_end`) or by rank.

    `worker_share` is what the slowest 3 % of the ranks cost of all that could be saved; NaN where that is next to nothing, or
    ranks are too many to try each.
    """

    claim_limit: float
    graph: JobGraph
    times: JobTimes
    typical: Floats
    typical_member: Integers
    stage: Integers
    transfer: Floats
    common_end: Floats
    rank_time: RankTime
    dur: float
    replay_error: float
    ideal: float
    path: JobPath
    stragglers: Sequence[FoundStraggler]
    wins: Floats
    group_wins: Floats
    steps: int
    uneven: StageImbalance | None
    wanders: bool
    worker_share: float


def claim_limit(clocks: Clocks) -> float:
    """Return the time below which nothing is called late, ns."""
    return max(_LEAST_CLAIM_NS, _TIMES_RESIDUAL * float(np.nan_to_num(clocks.residual)))


def clocks_of(units: int, slices: JobSlices) -> Clocks:
    """Return the clocks of the ranks, by the collectives that end everywhere at once."""
    told = slices.tells_clock
    members = slices.members
    return align(
        units,
        members.unit[told],
        slices.group[told],
        members.match[told],
        (members.end + slices.origin)[told].astype(float),
    )


def find_violations(slices: JobSlices, clocks: Clocks) -> Integers:
    """Find collectives that end on one rank before they begin on another, by more than the clocks differ.

    Collectives that end everywhere at once never do.
    """
    limit = max(_LEAST_CLAIM_NS, _TIMES_RESIDUAL * float(np.nan_to_num(clocks.usual_residual)))
    members = slices.members
    begins, ends = _common_times(slices, clocks)
    last_begin = np.full(members.collectives, -np.inf)
    first_end = np.full(members.collectives, np.inf)
    told = slices.tells_clock
    np.maximum.at(last_begin, members.match[told], begins[told])
    np.minimum.at(first_end, members.match[told], ends[told])
    return np.flatnonzero(last_begin > first_end + limit)


def _common_times(slices: JobSlices, clocks: Clocks) -> tuple[Floats, Floats]:
    members = slices.members
    return (
        clocks.to_common(members.unit, (members.start + slices.origin).astype(float)),
        clocks.to_common(members.unit, (members.end + slices.origin).astype(float)),
    )


def judge_window(ranks: Ranks, slices: JobSlices, clocks: Clocks) -> JudgedWindow | None:
    """Judge the window; None where the collectives contradict each other."""
    members, units = slices.members, ranks.count
    graph, circular = build_graph(members)
    if len(circular):
        return None
    limit = claim_limit(clocks)
    begins, ends = _common_times(slices, clocks)
    zero = float(begins[graph.is_first].min())
    common_end = group_medians(members.match, ends)
    last_end = float(common_end.max())
    compared = _compare_ranks(ranks, slices, graph, np.where(graph.is_first, begins - zero, 0.0), limit)
    del begins, ends  # of a large job as much memory as all the rest
    times = compared.times
    recorded = times.ends(np.zeros((units, 1), bool))[:, 0]
    lasts, dur = float(recorded.max()), last_end - zero
    error = abs(lasts - dur) / dur if dur else 0.0
    ideal = float(replace(times, transfer=compared.ideal_transfer).lasts(np.ones((units, 1), bool))[0])
    holds = error <= MOST_REPLAY_ERROR
    steps = len(np.unique(slices.step))
    kinds = _candidate_kinds(ranks, compared, lasts)
    named = find_stragglers(times, kinds, lasts) if holds else []
    wanders = _is_random(times, kinds[named[0].kind if named else "rank"], steps)
    uneven = _find_imbalance(compared, slices, lasts, ideal) if holds else None
    if uneven and compared.by_operation is None and uneven.stage_win > sum(straggler.adds for straggler in named):
        named = uneven.as_straggler(lasts)
    wins, group_wins, worker_share = np.full(units, np.nan), np.full(units, np.nan), np.nan
    if holds and units <= _MOST_SINGLE_RANKS:
        worker_share = _worker_share(times, lasts, ideal)
        alone = times.ends(np.eye(units, dtype=bool))
        wins, group_wins = lasts - alone.max(axis=0), _group_wins(slices, recorded, alone)
    return JudgedWindow(
        claim_limit=limit,
        graph=graph,
        times=times,
        typical=compared.typical,
        typical_member=compared.typical_member,
        stage=compared.stage,
        transfer=times.transfer,
        common_end=common_end,
        rank_time=divide_rank_time(units, graph, compared.typical, times.transfer),
        dur=dur,
        replay_error=error,
        ideal=ideal,
        path=critical_path(graph, times.own, times.first, times.transfer, recorded),
        stragglers=named,
        wins=wins,
        group_wins=group_wins,
        steps=steps,
        uneven=uneven,
        wanders=wanders,
        worker_share=worker_share,
    )


def _worker_share(times: JobTimes, lasts: float, ideal: float) -> float:
    """M_W of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025).

    The slowest ranks are those that would make the job longest if all others were usual; the share is what the job saves if they
    alone are, of `lasts` - `ideal`.
    """
    if lasts - ideal < WORTH_NAMING * lasts:
        return np.nan
    only_it_as_recorded = times.lasts(~np.eye(times.units, dtype=bool))
    slowest = np.argsort(-only_it_as_recorded, kind="stable")[: int(np.ceil(_SLOWEST * times.units))]
    cut = np.zeros((times.units, 1), bool)
    cut[slowest] = True
    return float((lasts - times.lasts(cut)[0]) / (lasts - ideal))


def _group_wins(slices: JobSlices, recorded: Floats, alone: Floats) -> Floats:
    """Return what the ranks that groups join to each rank would save by it alone, ns; NaN without collectives.

    `recorded` is when collectives ended, `alone` when they would if one rank (column) were usual.
    """
    members, units = slices.members, alone.shape[1]
    component = find_components(units, members.unit, close_gaps(slices.group))
    of_collective = np.empty(members.collectives, np.intp)
    of_collective[members.match] = component[members.unit]
    wins = np.full(units, np.nan)
    for number in range(component.max() + 1):
        joined, theirs = component == number, of_collective == number
        wins[joined] = recorded[theirs].max() - alone[np.ix_(theirs, joined)].max(axis=0)
    return wins


def _compare_ranks(ranks: Ranks, slices: JobSlices, graph: JobGraph, first: Floats, limit: float) -> _ComparedRanks:
    """Compare each rank with what is usual at its place; `first` is when members without predecessor arrive, ns."""
    members, units = slices.members, ranks.count
    transfer = np.full(members.collectives, np.inf)
    np.minimum.at(transfer, members.match, (members.end - members.start).astype(float))
    pipeline = ranks.pipeline
    if (pipeline < 0).any():
        pipeline = find_depths(units, members, slices.is_send, slices.is_between)
    has_order = bool((pipeline >= 0).all())
    stage = find_stages(units, members, slices.signature, pipeline)
    if ranks.operations is not None and has_order:
        stage = pipeline
    typical, typical_member = usual_own(members, graph.own, stage, slices.step)
    if ranks.operations is None:
        late = ~graph.is_first & (graph.own - np.nan_to_num(typical, nan=np.inf) > limit)
        times = JobTimes(units, graph, graph.own, np.where(late, typical, graph.own), first, transfer)
        return _ComparedRanks(times, typical, typical_member, stage, transfer, None, has_order)
    usual = usual_of_operations(graph, stage, slices.step, ranks.operations)
    times = JobTimes(units, graph, graph.own, usual.of_all, first, transfer)
    typical = np.where(graph.is_first, np.nan, usual.of_all)
    return _ComparedRanks(times, typical, typical_member, stage, _usual_transfer(slices, transfer), usual, has_order)


def _candidate_kinds(ranks: Ranks, compared: _ComparedRanks, lasts: float) -> dict[str, Mapping[str, Sequence[int]]]:
    """Return all candidates for blame: ranks, hosts with several ranks, and stages that are late as a whole."""
    kinds: dict[str, Mapping[str, Sequence[int]]] = {"rank": {str(unit): (unit,) for unit in range(ranks.count)}}
    if 1 < len(ranks.hosts) < ranks.count:
        kinds["host"] = ranks.hosts
    usual = compared.by_operation
    if compared.tells_stages and (usual is None or _is_imbalance(compared.times, usual, lasts)):
        kinds["stage"] = ranks_by_stage(compared.stage)
    return kinds


def _find_imbalance(compared: _ComparedRanks, slices: JobSlices, lasts: float, ideal: float) -> StageImbalance | None:
    """Return the pipeline stage that holds up the others; None without an order of stages."""
    if not (compared.tells_stages and compared.has_order):
        return None
    uneven = saving_if_balanced(compared.times, slices.is_send, compared.stage, lasts)
    return uneven if compared.by_operation is None else uneven.by_operation(compared.times, lasts, ideal)


def _usual_transfer(slices: JobSlices, transfer: Floats) -> Floats:
    """Return for each collective the median transfer of its kind.

    Barriers move nothing: what even their last rank waits for is none of these ranks.
    """
    kind, is_barrier = np.full(len(transfer), np.iinfo(np.int64).max), np.zeros(len(transfer), bool)
    # a send and its receive differ
    np.minimum.at(kind, slices.members.match, slices.signature)
    is_barrier[slices.members.match] = slices.is_barrier
    _, kind = np.unique(kind, return_inverse=True)
    return np.where(is_barrier, 0.0, group_medians(kind, transfer)[kind])


def _is_imbalance(times: JobTimes, usual: UsualTimes, lasts: float) -> bool:
    """Return whether more is lost to stages that always have more to do than to operations that vary within stages."""
    everybody = np.ones((times.units, 1), bool)
    steady = float(replace(times, usual=usual.of_stage).lasts(everybody)[0])
    return steady - float(times.lasts(everybody)[0]) > lasts - steady


def _is_random(times: JobTimes, units: Mapping[str, Sequence[int]], steps: int) -> bool:
    """Return whether the excess on the critical path is spread over units as chance would spread it."""
    if steps < _LEAST_STEPS:
        return False
    blame = blame_of_ranks(times, np.zeros(times.units, bool))
    most = max(float(blame[list(members)].sum()) for members in units.values())
    even = 1 / len(units)
    by_chance = even + _DEVIATIONS * float(np.sqrt(even * (1 - even) / steps))
    return most <= max(_MOST_OF_ONE, by_chance) * float(blame.sum())
