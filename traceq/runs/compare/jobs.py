"""Jobs of several ranks against each other: the verdict is on the step over all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Unpack

from msgspec.structs import replace

from traceq.common.units import share
from traceq.runs.compare.comparable import find_obstacles
from traceq.runs.compare.compare import LEVEL, Criteria, compare
from traceq.runs.compare.comparison import Comparison
from traceq.runs.job.change import JobChange, Judging, find_job_change
from traceq.runs.job.job import JobOfRun
from traceq.runs.run import Run, RunStep
from traceq.runs.sources import runs_of_rank


def jobs_of(runs: Sequence[Run]) -> dict[str, JobOfRun]:
    """Return the multi-rank jobs that the runs belong to, each once, by its `sha256`; empty if a run belongs to no job."""
    found = {run.job.sha256: run.job for run in runs if run.job is not None}
    return found if all(run.job is not None for run in runs) else {}


def compare_jobs(base: Sequence[Run], new: Sequence[Run], **criteria: Unpack[Criteria]) -> Comparison:
    """Compare the jobs of `new` with those of `base`; pass the runs of all ranks, and criteria as for `compare`.

    The verdict is on the step over all ranks. One rank is compared in full beside it: one that moved the step, if any
    did.
    """
    sides = jobs_of(base), jobs_of(new)
    lowest = runs_of_rank(base, None, ""), runs_of_rank(new, None, "")
    found = compare(_as_runs(lowest[0]), _as_runs(lowest[1]), **criteria)
    found = _add_obstacles(found, lowest, anyway=criteria.get("anyway", False))
    if found.change is None:
        return found
    judging = Judging(
        delta_ns=found.change.delta_ns,
        least_ns=found.floor_share * found.change.base_ns,
        noise_share=(found.change.noise_ns or 0) / found.change.base_ns if found.change.base_ns else 0.0,
        level=criteria.get("level", LEVEL),
    )
    job = find_job_change(list(sides[0].values()), list(sides[1].values()), judging)
    shown = _choose_rank(job, base, new)
    return replace(
        found,
        named=(),
        across=None,
        remarks=(*found.remarks, *_list_remarks(job)),
        job=replace(job, shown=shown),
        of_rank=None
        if shown is None
        else compare(*(runs_of_rank(runs, shown, "") for runs in (base, new)), **criteria),
    )


def _as_runs(runs: Sequence[Run]) -> list[Run]:
    """Return each job as one run with the job's steps; other properties are those of its lowest rank."""
    found: dict[str, Run] = {}
    for run in runs:
        if run.job is not None:
            found.setdefault(run.job.sha256, _as_run(run, run.job))
    return list(found.values())


def _as_run(run: Run, job: JobOfRun) -> Run:
    """Return a rank's run with the steps of its job instead of its own, and without items and findings."""
    steps = tuple(RunStep(step.step, step.name, step.dur, step.excluded, step.ledger) for step in job.steps)
    # What the steps of a job are made of is told of ranks.
    return replace(
        run,
        file=PurePath(run.source).name,
        sha256=job.sha256,
        rank=None,
        ranks=(),
        world_size=job.world_size,
        steps=steps,
        items=(),
        findings=(),
        parts=(),
        cannot_tell={},
    )


def _add_obstacles(found: Comparison, lowest: tuple[list[Run], list[Run]], *, anyway: bool) -> Comparison:
    """Return the comparison with the obstacles between the jobs' lowest ranks added; "cannot tell" then, unless `anyway`."""
    against = tuple(dict.fromkeys((*found.obstacles, *find_obstacles(*lowest))))
    if against == found.obstacles:
        return found
    found = replace(found, obstacles=against, comparable=False)
    return found if anyway else replace(found, verdict="cannot tell", reasons=against, named=())


def _choose_rank(job: JobChange, base: Sequence[Run], new: Sequence[Run]) -> int | None:
    """Return the rank to compare in full: one on both sides that moved the step, else the lowest common one, else None."""
    there = {run.rank for run in base} & {run.rank for run in new}
    moved = [rank for unit in job.moved for rank in unit.ranks]
    ranks = sorted(each for each in there if each is not None)
    return next((rank for rank in moved if rank in there), next(iter(ranks), None))


def _list_remarks(job: JobChange) -> list[str]:
    """Return sentences on ranks that are on one side only or missing, jobs that were not judged, and clocks that do not align."""
    found = []
    for name, other, ranks in (("base", "new", job.only_base), ("new", "base", job.only_new)):
        if ranks:
            found.append(
                f"only the {name} has {_list_ranks(ranks)}: they are not compared, and do not count as a change of the {other}"
            )
    for name, side in (("base", job.base), ("new", job.new)):
        if side.world_size is not None and len(side.ranks) < side.world_size:
            found.append(
                f"{name}: {len(side.ranks)} of {side.world_size} ranks are here ({share(len(side.ranks) / side.world_size)})"
            )
        found += [f"{name}: cannot tell who is late: {reason}" for reason in side.cannot_tell]
        if not side.is_aligned:
            found.append(f"{name}: the clocks of its ranks could not be aligned, so a step is the longest of any rank")
    return found


def _list_ranks(ranks: Sequence[int]) -> str:
    """Return ranks as text, at most eight by number: "ranks 0, 1, 2 and 5 more"."""
    few = 8
    shown = ", ".join(map(str, ranks[:few]))
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{f' and {len(ranks) - few} more' if len(ranks) > few else ''}"
