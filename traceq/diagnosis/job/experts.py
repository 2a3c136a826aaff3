"""Ranks whose experts get more tokens than those of other ranks, which wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.common.ranks import list_ranks
from traceq.common.units import duration
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

# Loads up to so many times the mean are no exception: routers that are trained to balance leave about as much.
_UNEVEN = 1.2

# Even loads that would win less of what the rank is late by are not why it is late.
_EXPLAINS = 0.5

# Of the job's time: what is worth a finding where no rank alone is named.
_WORTH = 0.01

_FIX = (
    "Spread tokens evenly: raise the weight of the router's load-balancing loss (or use biases that follow the load), set a"
    " capacity factor, or place experts by their load and replicate those in demand."
)


def expert_load(job: JobSubject) -> Iterator[JobFinding]:
    """Find a rank whose experts get more than 1.2 times the mean of its group, and for which the others wait.

    The load is what all-to-alls of the ep axis bring, those that take tokens back to their ranks not counted. Even loads win at
    most the rank's time before these beyond the mean of its group, no more of it than the load explains, and no more than a
    replay of the job with usual ranks. Where another rank is loaded in each layer or step, the group is named.
    """
    job.judged()
    if not job.facts["has_experts"]:
        return
    loads = job.ask("load")
    if not loads:
        raise CannotTell("no all-to-all of the experts has sizes on all ranks of its group and comes back")
    explained = [straggler for straggler in job.stragglers if is_late_by_load(job, straggler)]
    for straggler in explained:
        load = _find_load(job, straggler)
        yield _make_finding(
            job,
            load,
            straggler["name"],
            ranks=tuple(straggler["ranks"]),
            saving=min(straggler["win"], load["gain_ns"]),
            adds=min(straggler["adds"], load["gain_ns"]),
            place=straggler["place"],
        )
    worst = max(loads, key=lambda load: (load["group_gain_ns"], load["gain_ns"], load["most"]))
    saving = min(worst["group_gain_ns"], job.facts["dur"] - job.facts["ideal"])
    if not explained and worst["most"] > _UNEVEN and saving >= _WORTH * job.facts["dur"]:
        unit = f"experts of {list_ranks(worst['ranks'])}"
        yield _make_finding(job, worst, unit, ranks=tuple(worst["ranks"]), saving=saving)


def is_late_by_load(job: JobSubject, straggler: dict[str, Any]) -> bool:
    """Return whether its tokens explain most of the lateness of a rank; `straggler` is a row of the table."""
    if straggler["kind"] != "rank" or job.wanders or not job.facts["has_experts"]:
        return False
    load = _find_load(job, straggler)
    return bool(load) and load["load"] > _UNEVEN and load["gain_ns"] >= _EXPLAINS * (load["beyond_ns"] or 0) > 0


def _find_load(job: JobSubject, straggler: dict[str, Any]) -> dict[str, Any]:
    """Return the row of load.sql of a late rank; {} where its load is not known."""
    return next((load for load in job.ask("load") if load["unit"] in straggler["units"]), {})


def _make_finding(
    job: JobSubject,
    load: dict[str, Any],
    unit: str,
    *,
    ranks: tuple[int, ...],
    saving: float,
    adds: float | None = None,
    place: int | None = None,
) -> JobFinding:
    """Return the finding on a rank or group; `load` is the row of load.sql of the rank that even loads win most on."""
    share = load["load"] if place is not None else load["most"]
    who = "" if place is not None else f"rank {load['rank']} gets "
    return job.finding(
        "expert-load",
        unit,
        "load",
        ranks=ranks,
        because=f"{who}{share:.2f}x the mean load{'' if place is not None else ' in one layer'}",
        saving=saving,
        adds=adds,
        place=place,
        # No real job of experts at hand tells the sizes of its all-to-alls.
        confidence="medium",
        reason=(
            f"Before tokens go back, rank {load['rank']} works {duration(load['gain_ns'] / job.steps)} per step longer than the"
            " mean of its group, as far as its tokens explain it."
        ),
        fix=_FIX,
    )
