"""Ranks that are late because they compute longer: the same work on a slower GPU, or more work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.common.units import duration, share
from traceq.diagnosis.job.experts import is_late_by_load
from traceq.diagnosis.job.finding import JobFinding
from traceq.diagnosis.job.subject import JobSubject
from traceq.diagnosis.needs import CannotTell

# So much of the time of kernels is in such that are launched alike, and so much of that slower than elsewhere: the GPU is slower.
_ALL = 0.9

# Kernels that explain less of what the rank computes longer before its late arrivals are not why it is late.
_EXPLAINS = 0.5

# Fewer ranks that nobody waits for have no usual one.
_PEERS = 2

_UNKNOWN = "the late rank's kernels have no grids, or its stage does not have two other ranks to compare it with"


def slow_gpu(job: JobSubject) -> Iterator[JobFinding]:
    """Find a late rank whose GPU is slow: it launches the same kernels as its peers, and 90 % of their time is in slower ones.

    The same are as many per step of one name, grid and block, and hold 90 % of the time of all its kernels; slower by more than
    3 %. Its peers are two or more ranks of its stage that nobody waits for.
    """
    yield from _find_by_rule(job, "slow-gpu")


def work_imbalance(job: JobSubject) -> Iterator[JobFinding]:
    """Find a late rank that has more to do: its kernels take longer mostly by more calls, other grids or other kernels."""
    yield from _find_by_rule(job, "work-imbalance")


def find_reason(job: JobSubject, each: dict[str, Any]) -> str:
    """Return the rule ("expert-load", "slow-gpu", "work-imbalance") that explains why a straggler is late; "" if none does.

    `each` is a row of the table straggler.
    """
    if is_late_by_load(job, each):
        return "expert-load"
    if each["kind"] != "rank" or each["cause"] != "compute" or job.wanders:
        return ""
    kernels = job.ask("kernels", place=each["place"])
    if not kernels or kernels[0]["peers"] < _PEERS:
        return ""
    first = kernels[0]
    slower, more = first["slower_ns"], first["more_ns"]
    if max(slower, more) <= _EXPLAINS * (each["cause_ns"] or 0) / job.steps:
        return ""
    if first["same_share"] > _ALL and (first["slower_share"] or 0) > _ALL and slower > more:
        return "slow-gpu"
    return "work-imbalance" if more > max(slower, 0) else ""


def _find_by_rule(job: JobSubject, rule: str) -> Iterator[JobFinding]:
    """Yield a finding for each late rank whose longer computing the rule explains.

    Raises CannotTell where there are such ranks, but none has kernels and peers to compare.
    """
    job.judged()
    late = [
        straggler
        for straggler in job.stragglers
        if straggler["kind"] == "rank"
        and straggler["cause"] == "compute"
        and not job.wanders
        and not is_late_by_load(job, straggler)
    ]
    known = [straggler for straggler in late if _is_known(job, straggler)]
    for straggler in known:
        if find_reason(job, straggler) == rule:
            yield _make_finding(job, rule, straggler, job.ask("kernels", place=straggler["place"])[0])
    if late and not known:
        raise CannotTell(_UNKNOWN)


def _is_known(job: JobSubject, each: dict[str, Any]) -> bool:
    """Return whether the straggler, a row of the table, has kernels to compare and at least two peers."""
    kernels = job.ask("kernels", place=each["place"])
    return bool(kernels) and bool(kernels[0]["peers"] >= _PEERS)


def _make_finding(job: JobSubject, rule: str, each: dict[str, Any], first: dict[str, Any]) -> JobFinding:
    """Return the finding of `rule` on a straggler; `first` is the row of kernels.sql on it with most of the difference."""
    beyond = first["slower_ns"] if rule == "slow-gpu" else first["more_ns"]
    name = each["name"]
    if rule == "slow-gpu":
        fix = (
            f"Check the GPU of {name}: clocks, power limit and temperature (`nvidia-smi -q -d "
            "CLOCK,POWER,TEMPERATURE`), "
            "and other processes on it. The program itself needs no change."
        )
        reason = (
            f"{share(first['slower_share'])} of the time in kernels that all ranks launch is in kernels that "
            "are slower here."
        )
    else:
        fix = f"Give {name} the same amount of work as the others: sequence lengths, tokens per expert, layers, shards."
        reason = f"Most of the extra time is in kernels, grids or calls that {first['peers']} peers do not have."
    return job.finding(
        rule,
        name,
        "kernels",
        place=each["place"],
        ranks=tuple(each["ranks"]),
        because=f"{'slower kernels' if rule == 'slow-gpu' else 'more kernels'} +{duration(beyond)}",
        saving=each["win"],
        adds=each["adds"],
        # No real job at hand has had one.
        confidence="medium",
        reason=reason,
        fix=fix,
    )
