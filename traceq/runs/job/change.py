"""The changes in a job: its step, ranks, hosts and stages; new less base, ns per step, so that more is worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median
from typing import Literal

import msgspec
from msgspec.structs import replace

from traceq.common.distributions import student_quantile
from traceq.runs.job.job import JobOfRun, JobStraggler, RankOfRun

UnitKind = Literal["rank", "host", "stage"]


class UnitChange(msgspec.Struct, frozen=True):
    """The change of a rank, or of the mean rank of a host or stage: its own time and its waiting for others, per step.

    `interval_ns` contains the true change of own time; None where steps are too few. Costs are what the job would save
    if this unit were as usual (for ranks that hide each other, what it adds once those before it are fixed); None where
    a side was not judged. `beyond_ns` is the change of own time less the usual rank's. `moved`: its cost changed in the
    direction of the step, and its own time surely more than the usual rank's.
    """

    kind: UnitKind
    name: str
    ranks: tuple[int, ...]
    base_own_ns: int
    new_own_ns: int
    own_delta_ns: int
    interval_ns: tuple[int, int] | None
    beyond_ns: int
    base_wait_ns: int
    new_wait_ns: int
    base_cost_ns: int | None
    new_cost_ns: int | None
    moved: bool

    @property
    def is_sure(self) -> bool:
        """Whether the unit's own time surely changed: its interval does not contain 0."""
        return self.interval_ns is not None and not self.interval_ns[0] <= 0 <= self.interval_ns[1]

    @property
    def cost_delta_ns(self) -> int | None:
        """The change of the unit's cost to the job, ns per step; None if a side was not judged."""
        if self.base_cost_ns is None or self.new_cost_ns is None:
            return None
        return self.new_cost_ns - self.base_cost_ns


class JobSide(msgspec.Struct, frozen=True):
    """One side: its jobs and their ranks, the step and what it would take with usual ranks (`ideal_ns`), ns.

    Numbers are means over several jobs; `ranks` are those that all jobs have. Values are None where jobs were not
    judged; `cannot_tell` says why.
    """

    jobs: int
    ranks: tuple[int, ...]
    world_size: int | None
    hosts: int
    dur_ns: int | None
    ideal_ns: int | None
    slowdown: float | None
    patterns: tuple[str, ...]
    cannot_tell: tuple[str, ...]
    is_aligned: bool


class JobChange(msgspec.Struct, frozen=True):
    """The changes in a job: `units` are the ranks, hosts and stages of both sides, those that moved the step first.

    `usual_delta_ns` is the median change of ranks' own time. `only_base` and `only_new` are ranks of one side, which
    are not compared. `shown` is the rank whose trace is compared in full.
    """

    base: JobSide
    new: JobSide
    usual_delta_ns: int
    units: tuple[UnitChange, ...]
    only_base: tuple[int, ...]
    only_new: tuple[int, ...]
    stragglers_gone: tuple[JobStraggler, ...]
    stragglers_new: tuple[JobStraggler, ...]
    shown: int | None = None

    @property
    def moved(self) -> tuple[UnitChange, ...]:
        """The units (ranks, hosts, stages) whose change moved the job's step."""
        return tuple(unit for unit in self.units if unit.moved)


# With fewer steps an interval is as wide as what it is about.
_LEAST_FREEDOM = 4


class Judging(msgspec.Struct, frozen=True):
    """The criteria by which a unit's change counts.

    `delta_ns` is the change of the job's step, `least_ns` the smallest change that counts, `noise_share` the standard
    deviation between single runs as a share of own time, and `level` the probability of taking chance for a change.
    """

    delta_ns: int
    least_ns: float
    noise_share: float
    level: float


def find_job_change(base: Sequence[JobOfRun], new: Sequence[JobOfRun], judging: Judging) -> JobChange:
    """Return the change from the jobs of `base` to those of `new`; jobs of a side count equally.

    Both must have jobs.
    """
    sides = _describe_side(base), _describe_side(new)
    common = sorted(set(sides[0].ranks) & set(sides[1].ranks))
    ranks = {rank: (_of_rank(base, rank), _of_rank(new, rank)) for rank in common}
    deltas = [_mean_of(after, "own_ns") - _mean_of(before, "own_ns") for before, after in ranks.values()]
    usual = median(deltas) if deltas else 0.0
    groups = list(_group_ranks(ranks))
    judged = _UnitJudge(judging, usual, (base, new), len(groups))
    units = [judged.judge(kind, name, [ranks[each] for each in members], members) for kind, name, members in groups]
    units = list(_largest_only(units))
    is_judged = all(side.slowdown is not None for side in sides)
    return JobChange(
        base=sides[0],
        new=sides[1],
        usual_delta_ns=round(usual),
        units=tuple(sorted(units, key=_order)),
        only_base=tuple(sorted(set(sides[0].ranks) - set(common))),
        only_new=tuple(sorted(set(sides[1].ranks) - set(common))),
        stragglers_gone=tuple(_stragglers_missing_in(base, new, common)) if is_judged else (),
        stragglers_new=tuple(_stragglers_missing_in(new, base, common)) if is_judged else (),
    )


def _describe_side(jobs: Sequence[JobOfRun]) -> JobSide:
    """Return one side of the change: the ranks that all its jobs have, and the means over the jobs."""
    in_all = set.intersection(*({rank.rank for rank in job.ranks} for job in jobs))
    told = [job for job in jobs if job.dur is not None]
    judged = [job for job in told if job.slowdown is not None and job.ideal is not None]
    is_judged = len(judged) == len(jobs)
    return JobSide(
        jobs=len(jobs),
        ranks=tuple(sorted(in_all)),
        world_size=max((job.world_size for job in jobs if job.world_size is not None), default=None),
        hosts=len({rank.host for job in jobs for rank in job.ranks if rank.host is not None}),
        dur_ns=round(fmean((job.dur or 0) / job.steps_told for job in told)) if len(told) == len(jobs) else None,
        ideal_ns=round(fmean((job.ideal or 0) / job.steps_told for job in judged)) if is_judged else None,
        slowdown=fmean(job.slowdown or 0.0 for job in judged) if is_judged else None,
        patterns=tuple(dict.fromkeys(job.pattern for job in jobs if job.pattern)),
        cannot_tell=tuple(
            dict.fromkeys(job.cannot_tell or "it was not judged" for job in jobs if job.slowdown is None)
        ),
        is_aligned=all(job.is_aligned for job in jobs),
    )


Rows = list[RankOfRun]


def _of_rank(jobs: Sequence[JobOfRun], rank: int) -> Rows:
    """Return the rank's record in each job."""
    return [each for job in jobs for each in job.ranks if each.rank == rank]


def _mean_of(rows: Rows, name: str) -> float:
    """Return the mean of the records' attribute `name`."""
    return fmean(getattr(row, name) for row in rows)


def _group_ranks(ranks: dict[int, tuple[Rows, Rows]]) -> Iterator[tuple[UnitKind, str, list[int]]]:
    """Yield the kind, name and ranks of each unit to compare: every rank, and hosts and stages of several ranks.

    A host or stage must hold the same ranks on both sides, and not all of them.
    """
    for rank in ranks:
        yield "rank", f"rank {rank}", [rank]
    naming: tuple[tuple[UnitKind, Callable[[RankOfRun], str | int | None]], ...] = (
        ("host", lambda each: each.host),
        ("stage", lambda each: each.stage),
    )
    for kind, of in naming:
        members: dict[str | int, list[int]] = {}
        for rank, (before, after) in ranks.items():
            values = {of(each) for each in (*before, *after)}
            if len(values) == 1 and (value := values.pop()) is not None:
                members.setdefault(value, []).append(rank)
        if len(members) > 1:
            yield from ((kind, f"{kind} {value}", listed) for value, listed in members.items() if len(listed) > 1)


class _UnitJudge(msgspec.Struct, frozen=True):
    """Computes and judges the changes of units; `tests` is their number, among which the level is divided.

    `usual` is the median change of ranks' own time, ns; `jobs` are those of both sides.
    """

    judging: Judging
    usual: float
    jobs: tuple[Sequence[JobOfRun], Sequence[JobOfRun]]
    tests: int

    def judge(self, kind: UnitKind, name: str, rows: list[tuple[Rows, Rows]], ranks: list[int]) -> UnitChange:
        """Return the change of a unit (rank, host or stage).

        `rows` holds the records of each of its `ranks` on both sides.
        """
        own = [fmean(_mean_of(row[side], "own_ns") for row in rows) for side in (0, 1)]
        wait = [round(fmean(_mean_of(row[side], "wait_ns") for row in rows)) for side in (0, 1)]
        delta = own[1] - own[0]
        interval = self._find_interval(delta, own, rows)
        costs = [_job_cost(jobs, kind, ranks) for jobs in self.jobs]
        found = UnitChange(
            kind,
            name,
            tuple(ranks),
            round(own[0]),
            round(own[1]),
            round(own[1]) - round(own[0]),
            interval,
            round(delta - self.usual),
            wait[0],
            wait[1],
            costs[0],
            costs[1],
            moved=False,
        )
        return replace(found, moved=self._has_moved(found))

    def _find_interval(self, delta: float, own: list[float], rows: list[tuple[Rows, Rows]]) -> tuple[int, int] | None:
        """Return the Student interval of the change, ns; None if steps are too few.

        The level is divided by the number of units that are judged at once.
        """
        variance, freedom = 0.0, math.inf
        for side, jobs in enumerate(self.jobs):
            errors = [each.error_ns for pair in rows for each in pair[side]]
            if any(error is None for error in errors):
                return None
            variance += sum((error or 0.0) ** 2 for error in errors) / len(errors) ** 2
            variance += (self.judging.noise_share * own[side]) ** 2 / len(jobs)
            freedom = min(freedom, *(len([step for step in job.steps if step.excluded is None]) - 1 for job in jobs))
        if freedom < _LEAST_FREEDOM:
            return None
        half = student_quantile(self.judging.level / self.tests, int(freedom)) * math.sqrt(variance)
        return round(delta - half), round(delta + half)

    def _has_moved(self, unit: UnitChange) -> bool:
        """Return whether the unit's cost changed enough in the step's direction.

        Its own time must surely have changed more than the usual rank's, too.
        """
        cost = unit.cost_delta_ns
        way = 1 if self.judging.delta_ns > 0 else -1
        if not self.judging.delta_ns or cost is None or cost * way < self.judging.least_ns or unit.beyond_ns * way <= 0:
            return False
        if unit.interval_ns is None:
            return True
        nearest = unit.interval_ns[0] if way > 0 else unit.interval_ns[1]
        return (nearest - self.usual) * way > 0


def _job_cost(jobs: Sequence[JobOfRun], kind: UnitKind, ranks: list[int]) -> int | None:
    """Return what the step would save if these ranks were as usual, ns: the mean over the jobs.

    None if a job was not judged.
    """
    if any(job.slowdown is None for job in jobs):
        return None
    return round(fmean(_cost_in(job, kind, ranks) for job in jobs))


def _cost_in(job: JobOfRun, kind: UnitKind, ranks: list[int]) -> int:
    """Return the largest cost that the job states for exactly these ranks as a unit of the kind, ns per step.

    0 without one.
    """
    named = [
        straggler.adds_ns
        for straggler in job.stragglers
        if straggler.kind == kind and set(straggler.ranks) == set(ranks)
    ]
    alone = [rank.win_ns or 0 for rank in job.ranks if kind == "rank" and [rank.rank] == ranks]
    return max((*named, *alone), default=0)


def _largest_only(units: list[UnitChange]) -> Iterator[UnitChange]:
    """Yield all units, with `moved` cleared for ranks whose whole host or stage moved the step."""
    told = {rank for unit in units if unit.moved and unit.kind != "rank" for rank in unit.ranks}
    for unit in units:
        if unit.kind == "rank" and unit.moved and unit.ranks[0] in told:
            yield replace(unit, moved=False)
        else:
            yield unit


def _order(unit: UnitChange) -> tuple[bool, int, int, tuple[int, ...]]:
    """Return a sort key: units that moved the step first, then the largest change of cost and of own time."""
    return not unit.moved, -abs(unit.cost_delta_ns or 0), -abs(unit.own_delta_ns), unit.ranks


def _stragglers_missing_in(
    jobs: Sequence[JobOfRun], others: Sequence[JobOfRun], common: list[int]
) -> Iterator[JobStraggler]:
    """Yield each straggler of `jobs` that `others` do not name, if all its ranks are on both sides (`common`)."""
    seen = {(straggler.kind, straggler.ranks) for job in others for straggler in job.stragglers}
    for job in jobs:
        for straggler in job.stragglers:
            if (straggler.kind, straggler.ranks) not in seen and set(straggler.ranks) <= set(common):
                seen.add((straggler.kind, straggler.ranks))
                yield straggler
