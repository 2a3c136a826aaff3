"""One window of a job, judged: how long it took, how long it would take with usual ranks, and who makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from traceq.analysis.job.arrays import group_medians, measure_coverage, stable_order
from traceq.analysis.job.clocks import Clocks, align
from traceq.analysis.job.graph import NONE, JobGraph, JobPath, Members, build_graph, critical_path
from traceq.analysis.job.parts import PartStraggler, find_part_stragglers, find_parts
from traceq.analysis.job.path import JobPathPieces, lay_out_path
from traceq.analysis.job.pipelines import (
    StageImbalance,
    find_depths,
    find_single_ranks,
    ranks_by_stage,
    saving_if_balanced,
    saving_if_spread,
)
from traceq.analysis.job.stragglers import WORTH_NAMING, FoundStraggler, JobTimes, blame_of_ranks, find_stragglers
from traceq.analysis.job.uneven import UnevenCollectives, UnevenWaits, measure_waits, split_ends
from traceq.analysis.job.usual import UsualTimes, find_stages, usual_of_operations, usual_own

if TYPE_CHECKING:
    from traceq.analysis.job.graph import Flags, Floats, Integers
    from traceq.analysis.job.usual import RankOperations


class RankTime(msgspec.Struct, frozen=True):
    """Time of each rank, ns: own work before collectives, transfers, and waiting for other ranks.

    `late` is the part of `own` that exceeds the usual.
    """

    own: Floats
    late: Floats
    transfer: Floats
    wait: Floats


def divide_rank_time(units: int, graph: JobGraph, typical: Floats, transfer: Floats) -> RankTime:
    """Divide each rank's time from its first collective on into own work, transfer and waiting.

    `typical` is the usual own time by member (NaN: unknown), `transfer` is by collective; ns. Where they overlap own work
    counts first, then transfer: a rank that works while a collective is under way does not wait.
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
        busy = measure_coverage(works, moves)
        worked, late = measure_coverage(works), measure_coverage((start - beyond, start))
        found[:, unit] = worked, late, busy - worked, measure_coverage(works, (start, end)) - busy
    return RankTime(*found)


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


class JobSlices(msgspec.Struct, frozen=True):
    """Slices of collectives that were matched across ranks, one array element each; their times plus `origin` are ns since 1970.

    `signature` is equal for collectives of the same kind (operation, bytes, group size), `group` for those of the same
    process group; `step` is -1 outside steps. `tells_clock` marks collectives that end on all ranks at once, `is_between`
    sends and receives. `uneven` are the collectives that ranks do not leave together, None without any.
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
    uneven: UnevenCollectives | None = None


class Ranks(msgspec.Struct, frozen=True):
    """Facts on the ranks 0 to count-1 apart from collectives.

    `pipeline` is each rank's pipeline stage as the trace tells it, -1 if it does not; `hosts` maps hosts to their ranks;
    `operations` are the ranks' operations between collectives, None unless the source is a table of operations.
    """

    count: int
    pipeline: Integers
    hosts: Mapping[str, Sequence[int]]
    operations: RankOperations | None = None


class _ComparedRanks(msgspec.Struct, frozen=True):
    """A job's times compared with the usual: `typical` own time by member, and the member that has it.

    `ideal_transfer` is the usual transfer by collective, `stage` is by rank. `by_operation` are usual times from tables of
    operations, None without. `has_order` tells whether the order of the stages in the pipeline is known, `is_single`
    whether ranks that send to each other are one stage each, in that order.
    """

    times: JobTimes
    typical: Floats
    typical_member: Integers
    stage: Integers
    ideal_transfer: Floats
    by_operation: UsualTimes | None
    has_order: bool
    is_single: bool

    @property
    def tells_stages(self) -> bool:
        """Whether the ranks fall into several stages, at least one with several ranks."""
        return 1 < len(np.unique(self.stage)) < self.times.units


class JudgedWindow(msgspec.Struct, frozen=True):
    """Findings on one window of a job; arrays are by member, by collective (`transfer`, `common_end`) or by rank; times in ns.

    `worker_share` is the part of the possible saving that the slowest 3 % of the ranks would bring; NaN where next to
    nothing can be saved, the replay is too far off, or the ranks are too many to try each. `begin` is when the job begins,
    ns on the common clock; `pieces` are the critical path as it was recorded. The collectives of `graph` and of `times` are
    numbered by ends (split_ends) where `waits` is not None, else as in `match`, the collective of each member.
    """

    claim_limit: float
    match: Integers
    waits: UnevenWaits | None
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
    begin: int
    pieces: JobPathPieces
    stragglers: Sequence[FoundStraggler]
    wins: Floats
    group_wins: Floats
    part: Integers
    part_stragglers: Sequence[PartStraggler]
    steps: int
    uneven: StageImbalance | None
    wanders: bool
    worker_share: float


def claim_limit(clocks: Clocks) -> float:
    """Return the shortest delay in ns that may be called late: three times the spread of the clocks, 20 us at least."""
    return max(_LEAST_CLAIM_NS, _TIMES_RESIDUAL * float(np.nan_to_num(clocks.residual)))


def clocks_of(units: int, slices: JobSlices) -> Clocks:
    """Fit the clocks of `units` ranks to those slices of collectives that end on all ranks at once."""
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
    """Return the numbers of the collectives that end on one rank before they begin on another, by more than the clocks are off.

    Only collectives that end on all ranks at once are checked: if such a one violates this it was matched wrongly.
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
    """Return start and end of each slice on the common clock, ns."""
    members = slices.members
    return (
        clocks.to_common(members.unit, (members.start + slices.origin).astype(float)),
        clocks.to_common(members.unit, (members.end + slices.origin).astype(float)),
    )


def judge_window(ranks: Ranks, slices: JobSlices, clocks: Clocks) -> JudgedWindow | None:
    """Judge the window by a replay of its collectives: its stragglers, savings and critical path.

    Return None where the order of its collectives contradicts itself. Savings are NaN, and no straggler is named, where the
    replay is off by more than 2 %.
    """
    members, units = slices.members, ranks.count
    limit = claim_limit(clocks)
    transfer, of_end = _shortest_durations(members), None
    waits, shared = None, None
    if slices.uneven is not None:
        waits = measure_waits(members, slices.uneven, _common_times(slices, clocks)[0], clocks.joined, limit)
    if waits is not None:
        members, shared, of_end = split_ends(members, transfer, waits)
        transfer[waits.uneven.match] = waits.find_transfers(members)
    graph, circular = build_graph(members, shared)
    if len(circular):
        return None
    begins, ends = _common_times(slices, clocks)
    zero = float(begins[graph.is_first].min())
    common_end = group_medians(slices.members.match, ends)
    last_end = float(common_end.max())
    if waits is not None:
        last_end = float(ends[waits.rows].max(initial=last_end))
    first = np.where(graph.is_first, begins - zero, 0.0)
    compared = _compare_ranks(ranks, slices, graph, first, transfer if of_end is None else of_end, limit)
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
    rank_time = divide_rank_time(units, graph, compared.typical, times.transfer)
    uneven = _find_imbalance(compared, slices, rank_time.own, lasts, ideal) if holds else None
    if uneven and compared.by_operation is None and uneven.stage_win > sum(straggler.adds for straggler in named):
        named = uneven.as_straggler() or named
    wins, group_wins, worker_share = np.full(units, np.nan), np.full(units, np.nan), np.nan
    part = find_parts(units, members.unit, slices.group)
    if holds and units <= _MOST_SINGLE_RANKS:
        worker_share = _worker_share(times, lasts, ideal)
        alone = times.ends(np.eye(units, dtype=bool))
        wins, group_wins = lasts - alone.max(axis=0), _group_wins(part, graph.members, recorded, alone)
    path = critical_path(graph, times.own, times.first, times.transfer, recorded)
    return JudgedWindow(
        claim_limit=limit,
        match=slices.members.match,
        waits=waits,
        graph=graph,
        times=times,
        typical=compared.typical,
        typical_member=compared.typical_member,
        stage=compared.stage,
        transfer=transfer,
        common_end=common_end,
        rank_time=rank_time,
        dur=dur,
        replay_error=error,
        ideal=ideal,
        path=path,
        begin=int(zero),
        pieces=_lay_out(path, slices, graph, clocks, zero, common_end, dur),
        stragglers=named,
        wins=wins,
        group_wins=group_wins,
        part=part,
        part_stragglers=find_part_stragglers(times, part) if holds else [],
        steps=steps,
        uneven=uneven,
        wanders=wanders,
        worker_share=worker_share,
    )


def _lay_out(
    path: JobPath, slices: JobSlices, graph: JobGraph, clocks: Clocks, zero: float, common_end: Floats, dur: float
) -> JobPathPieces:
    """Return the pieces of the path on the common clock; `zero` (ns) is the job's begin, `common_end` is by collective, ns.

    A collective that ranks do not leave together ends when the rank that goes on from it has left it.
    """
    rows, members = path.members, slices.members
    arrivals = clocks.to_common(members.unit[rows], (members.start[rows] + slices.origin[rows]).astype(float))
    ends = common_end[members.match[rows]]
    if slices.uneven is not None:
        left = graph.latest[rows[1:]]
        leaves = np.isin(members.match[rows[:-1]], slices.uneven.match) & (
            members.match[left] == members.match[rows[:-1]]
        )
        own_end = clocks.to_common(members.unit[left], (members.end[left] + slices.origin[left]).astype(float))
        ends[:-1] = np.where(leaves, own_end, ends[:-1])
    return lay_out_path(rows, arrivals - zero, ends - zero, dur)


def _worker_share(times: JobTimes, lasts: float, ideal: float) -> float:
    """Return the share (0 to 1) of the saving `lasts` - `ideal` (ns) that the slowest 3 % of the ranks would bring, if usual.

    This is M_W of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025). The slowest
    ranks are those that make the job longest while all others are usual. NaN where next to nothing can be saved.
    """
    if lasts - ideal < WORTH_NAMING * lasts:
        return np.nan
    only_it_as_recorded = times.lasts(~np.eye(times.units, dtype=bool))
    slowest = np.argsort(-only_it_as_recorded, kind="stable")[: int(np.ceil(_SLOWEST * times.units))]
    cut = np.zeros((times.units, 1), bool)
    cut[slowest] = True
    return float((lasts - times.lasts(cut)[0]) / (lasts - ideal))


def _shortest_durations(members: Members) -> Floats:
    """Return the duration of the member of each collective that needed least, ns."""
    shortest = np.full(members.collectives, np.inf)
    np.minimum.at(shortest, members.match, (members.end - members.start).astype(float))
    return shortest


def _group_wins(part: Integers, members: Members, recorded: Floats, alone: Floats) -> Floats:
    """Return for each rank how much time its part of the job would save if this rank were usual, ns.

    `part` is by rank. `recorded` is each collective's end as recorded, `alone` its end if one rank (column) were usual. NaN
    for ranks without collectives.
    """
    of_collective = np.full(members.collectives, NONE, np.intp)
    of_collective[members.match] = part[members.unit]
    wins = np.full(alone.shape[1], np.nan)
    for number in range(part.max() + 1):
        joined, theirs = part == number, of_collective == number
        wins[joined] = recorded[theirs].max() - alone[np.ix_(theirs, joined)].max(axis=0)
    return wins


def _compare_ranks(
    ranks: Ranks, slices: JobSlices, graph: JobGraph, first: Floats, transfer: Floats, limit: float
) -> _ComparedRanks:
    """Compare each rank with the usual at its place; `first` is the arrival of members that follow nothing, ns.

    `transfer` is by collective of the graph, ns. `limit` (ns) is the least excess that counts as late, unless the usual
    comes from tables of operations.
    """
    members, units = slices.members, ranks.count
    pipeline = ranks.pipeline
    if (pipeline < 0).any():
        pipeline = find_depths(units, members, slices.is_send, slices.is_between)
    has_order = bool((pipeline >= 0).all())
    stage = find_stages(units, members, slices.signature, pipeline)
    is_single = has_order and bool(slices.is_between.any()) and find_single_ranks(pipeline)
    if has_order and (ranks.operations is not None or is_single):
        stage = pipeline
    typical, typical_member = usual_own(members, graph.own, stage, slices.step)
    if ranks.operations is None:
        late = ~graph.is_first & (graph.own - np.nan_to_num(typical, nan=np.inf) > limit)
        times = JobTimes(units, graph, graph.own, np.where(late, typical, graph.own), first, transfer)
        return _ComparedRanks(times, typical, typical_member, stage, transfer, None, has_order, is_single)
    usual = usual_of_operations(graph, stage, slices.step, ranks.operations)
    times = JobTimes(units, graph, graph.own, usual.of_all, first, transfer)
    typical = np.where(graph.is_first, np.nan, usual.of_all)
    ideal = _usual_transfer(slices, graph, transfer)
    return _ComparedRanks(times, typical, typical_member, stage, ideal, usual, has_order, is_single)


def _candidate_kinds(ranks: Ranks, compared: _ComparedRanks, lasts: float) -> dict[str, Mapping[str, Sequence[int]]]:
    """Return the candidates for stragglers by kind, label to ranks: each rank, each host, each stage.

    Hosts are left out unless some have several ranks, stages unless they are known and, with tables of operations, uneven.
    """
    kinds: dict[str, Mapping[str, Sequence[int]]] = {"rank": {str(unit): (unit,) for unit in range(ranks.count)}}
    if 1 < len(ranks.hosts) < ranks.count:
        kinds["host"] = ranks.hosts
    usual = compared.by_operation
    if compared.tells_stages and (usual is None or _is_imbalance(compared.times, usual, lasts)):
        kinds["stage"] = ranks_by_stage(compared.stage)
    return kinds


def _find_imbalance(
    compared: _ComparedRanks, slices: JobSlices, own: Floats, lasts: float, ideal: float
) -> StageImbalance | None:
    """Return the imbalance of the pipeline's stages (`own` is by rank, ns); None where stages or their order are unknown."""
    if not ((compared.tells_stages or compared.is_single) and compared.has_order):
        return None
    if compared.is_single and compared.by_operation is None:
        return saving_if_spread(compared.times, own, compared.stage, slices.step, lasts)
    uneven = saving_if_balanced(compared.times, own, compared.stage, lasts)
    return uneven if compared.by_operation is None else uneven.by_operation(compared.times, lasts, ideal)


def _usual_transfer(slices: JobSlices, graph: JobGraph, transfer: Floats) -> Floats:
    """Return for each collective the median transfer of its kind (signature), ns; 0 for barriers, which move no data."""
    match = graph.members.match
    kind, is_barrier = np.full(len(transfer), np.iinfo(np.int64).max), np.zeros(len(transfer), bool)
    # a send and its receive differ
    np.minimum.at(kind, match, slices.signature)
    is_barrier[match] = slices.is_barrier
    _, kind = np.unique(kind, return_inverse=True)
    return np.where(is_barrier, 0.0, group_medians(kind, transfer)[kind])


def _is_imbalance(times: JobTimes, usual: UsualTimes, lasts: float) -> bool:
    """Return whether stages that have more to do cost more time than operations that vary within a stage; `lasts` is in ns."""
    everybody = np.ones((times.units, 1), bool)
    steady = float(replace(times, usual=usual.of_stage).lasts(everybody)[0])
    return steady - float(times.lasts(everybody)[0]) > lasts - steady


def _is_random(times: JobTimes, units: Mapping[str, Sequence[int]], steps: int) -> bool:
    """Return whether no candidate holds up the critical path more often than chance would have it; False in under 8 steps.

    `units` maps labels of candidates to ranks.
    """
    if steps < _LEAST_STEPS:
        return False
    blame = blame_of_ranks(times, np.zeros(times.units, bool))
    most = max(float(blame[list(members)].sum()) for members in units.values())
    even = 1 / len(units)
    by_chance = even + _DEVIATIONS * float(np.sqrt(even * (1 - even) / steps))
    return most <= max(_MOST_OF_ONE, by_chance) * float(blame.sum())
