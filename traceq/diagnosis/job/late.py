"""Who makes the others wait: ranks, whole hosts, stages of a pipeline, or a different rank each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.analysis.categories import label
from traceq.common.units import duration, share, some
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.job.compute import find_reason
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

# In so many of the steps a unit holds the job up that it is always the same one.
_MOST_STEPS = 0.6

# Of fewer steps nothing tells a rank that is late by chance from one that always is.
_ENOUGH_STEPS = 8


def job_straggler(job: JobSubject) -> Iterator[JobFinding]:
    """Ranks that the others wait for: those in `straggler`, with what the replay of the job saves by each.

    Sure where one is late in at least 60 % of the steps. In a job whose late rank is another one each time none is named.
    Where more is known of why it computes longer, slow-gpu, work-imbalance or
    expert-load tell.
    """
    job.judged()
    if not job.wanders:
        for straggler in _stragglers_of_kind(job, "rank"):
            if find_reason(job, straggler):
                continue
            fix = (
                f"Report on {straggler['name']} alone (`traceq report DB --rank "
                f"{straggler['ranks'][0]}`){_say_more(straggler)}."
            )
            yield _make_finding(job, "job-straggler", straggler, fix)


def slow_host(job: JobSubject) -> Iterator[JobFinding]:
    """Hosts of which most ranks are late: fixing one saves more than five times what the best of its ranks does alone.

    At most half of the hosts are named: more are no exception. Needs the names of hosts.
    """
    job.judged()
    if job.facts["hosts"] is None:
        raise CannotTell("no trace names its host")
    if not job.wanders:
        for straggler in _stragglers_of_kind(job, "host"):
            fix = (
                f"Compare {straggler['name']} with the other hosts: its GPUs' clocks and power limits, the "
                f"cores its processes get, other programs on it. A run without it would confirm that it is the "
                f"host{_say_more(straggler)}."
            )
            yield _make_finding(job, "slow-host", straggler, fix)


def stage_imbalance(job: JobSubject) -> Iterator[JobFinding]:
    """Stages of a pipeline that have more to do than the others, where that costs more than what varies within stages.

    Needs the order of stages: from the source, or from who sends to whom first. A stage of one rank among such stages is
    named where it works 5 % longer than the median of the others, and longest in most steps; it saves what a replay does
    in which all stages share what it has more.
    """
    job.judged()
    # Only lists of collectives that differ can be those of several stages.
    if job.facts["stages"] > 1 and job.facts["stage_win"] is None:
        raise CannotTell("ranks have different collectives, and the order of their stages is not known")
    for straggler in _stragglers_of_kind(job, "stage"):
        if len(straggler["units"]) == 1 and job.facts["stages"] == job.facts["ranks"]:
            yield _find_single_rank(job, straggler)
            continue
        fix = (
            f"Move layers from {straggler['name']} to the other stages, or its embedding and loss to separate "
            "stages, until their own times are similar."
        )
        yield _make_finding(job, "stage-imbalance", straggler, fix)


def _find_single_rank(job: JobSubject, straggler: dict[str, Any]) -> JobFinding:
    """Return the finding on a slow stage, a row of the table straggler, in a pipeline with one rank a stage."""
    stages = job.ask("pipeline_stages")
    (mine,) = (stage for stage in stages if stage["rank"] == straggler["ranks"][0])
    name, more = straggler["name"], mine["more_of"]
    if more is None or more == "compute":
        fix = (
            f"Move layers from {name} to the other stages, or its embedding and loss to separate stages, until their "
            "own times are similar: that saves as much at best, since whole layers move."
        )
    else:
        fix = (
            f"First see what keeps its rank (`traceq report DB --rank {mine['rank']}`): {name} has more "
            f"{label(more)} than the others, which goes with the layers only if these are why."
        )
    return job.finding(
        "stage-imbalance",
        f"{name} of {len(stages)}",
        "pipeline_stages",
        ranks=tuple(straggler["ranks"]),
        because=f"{share(mine['beyond_mean'])} more work than the mean",
        saving=straggler["win"],
        adds=straggler["adds"],
        # No real job at hand has had one.
        confidence="medium",
        reason=(
            f"Of the stages, counted from 0, it works longest in most of {some(job.facts['steps'], 'step')}; with one rank a "
            "stage, no other rank has the same work to compare it with."
        ),
        fix=fix,
    )


def wandering_straggler(job: JobSubject) -> Iterator[JobFinding]:
    """Nobody in particular: a different rank is late each time, no oftener than chance would have it, and all wait for it.

    It saves what the job loses against usual ranks. Needs eight steps.
    """
    job.judged()
    if job.facts["steps"] < _ENOUGH_STEPS:
        raise CannotTell(
            f"it takes {_ENOUGH_STEPS} steps to tell chance from a pattern, and there are {job.facts['steps']}"
        )
    if not job.wanders:
        return
    most = max(job.ask("blame"), key=lambda row: row["beyond_share"], default=None)
    because = f"rank {most['rank']} most, {share(most['beyond_share'])} of it" if most else "late in turn"
    yield job.finding(
        "wandering-straggler",
        "all ranks",
        "blame",
        because=because,
        saving=job.facts["dur"] - job.facts["ideal"],
        confidence="high" if job.facts["ranks"] > 2 else "medium",  # noqa: PLR2004 - of two ranks one is always late
        reason=f"In {some(job.facts['steps'], 'step')}, no rank is late more often than by chance.",
        fix=(
            "Give every rank the same amount of work in every step: sort or pack sequences by length, balance "
            "what loaders hand out, and let all ranks collect garbage and save in the same step."
        ),
    )


def _stragglers_of_kind(job: JobSubject, kind: str) -> list[dict[str, Any]]:
    """Return the stragglers of the kind (rank, host, stage), in the order in which to fix them."""
    return [straggler for straggler in job.stragglers if straggler["kind"] == kind]


def _make_finding(job: JobSubject, rule: str, each: dict[str, Any], fix: str) -> JobFinding:
    """Return the finding of `rule` on a straggler, a row of the table, with the advice `fix`."""
    confidence, reason = _rate_confidence(job, each)
    return job.finding(
        rule,
        each["name"],
        "straggler",
        place=each["place"],
        ranks=tuple(each["ranks"]),
        because=_describe_cause(job, each),
        saving=each["win"],
        adds=each["adds"],
        confidence=confidence,
        reason=reason,
        fix=fix,
    )


def _rate_confidence(job: JobSubject, each: dict[str, Any]) -> tuple[Confidence, str]:
    """Return the confidence that the straggler, a row of the table, is late again, and a sentence with the reason.

    High if it holds up at least 60 % of the steps, else medium; never high for hosts, as no real job has had a slow
    one.
    """
    if each["late_steps"] is None:
        return "medium", "Only one step was recorded, so it is not known whether this recurs."
    held = f"It delays the job in {share(each['late_steps'])} of {some(job.facts['steps'], 'step')}."
    return ("high" if each["late_steps"] >= _MOST_STEPS and each["kind"] != "host" else "medium"), held


def _describe_cause(job: JobSubject, each: dict[str, Any]) -> str:
    """Return what the straggler has more of, with the excess per step ("Compute +2.0 ms"); "" if unknown."""
    if each["cause"] is None or each["cause_ns"] is None:
        return ""
    return f"{label(each['cause'])} +{duration(each['cause_ns'] / job.steps)}"


def _say_more(straggler: dict[str, Any]) -> str:
    """Return the end of a sentence, "; it has more of X than the usual rank", on the straggler; "" if unknown."""
    return (
        ""
        if straggler["cause"] is None
        else f"; it spends more time than a typical rank in {label(straggler['cause'])}"
    )
