"""Waiting for a late rank.

What it finds
    Time that collectives take only because another rank arrives late; and says which, where the traces of several
    ranks of one job are in the database.

Why it matters
    A collective lasts until the last rank has arrived. On all other ranks that looks like slow communication, but no
    network, bucket size or overlap wins it back: the cause lies on the late rank, in its host, its input or its
    kernels.

How it is measured
    Collectives of several ranks are matched by process group, sequence number, operation and size (collective), where
    at most 60 s of wall clock lie between them. The shortest duration of each is the transfer, on the rank that came
    last; what exposed time exceeds it on this rank is waiting, and claimed. Durations alone are compared: clocks need
    not agree. A group that is known by an address only is matched when it has all ranks of the job. Ranks that are
    not in the database may be later still: then this is a lower bound, and the rank named is the last of those seen.
    What the late rank has more of is in its time_ledger. low 0.3, likely 0.7, high 1: behind the last rank there is a
    second to last.

    On the rank that most of the waiting (half, and at least 1 % of a step) goes back to, a remark says so.

What to try
    Fix the late rank: its own findings say what it does. Balance what ranks have to do: sequence lengths, shards,
    logging and evaluation on rank 0.

References
    https://docs.pytorch.org/docs/stable/notes/ddp.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from traceq.common.units import duration, share
from traceq.diagnosis.advice import Advice, Remark
from traceq.diagnosis.needs import CannotTell
from traceq.diagnosis.rules.shared.collectives import require_communication
from traceq.diagnosis.subject import Subject

_WHAT = {
    "compute": "its kernels take longer",
    "idle_data": "its GPU waits for input",
    "idle_launch": "its host launches too slowly",
    "idle_python": "its GPU waits for its host between launches",
    "idle_sync": "its host waits for its GPU, which then runs out of work",
    "idle_allocation": "it allocates memory",
    "idle_compile": "it compiles or loads code",
    "idle_cpu": "its GPU waits for the program's own code on the host",
    "idle_os": "its host waits for the operating system",
    "idle_checkpoint": "it saves checkpoints",
    "idle_unattributed": "its GPU is idle, and the trace does not show why",
}


def judge(subject: Subject) -> Iterator[Advice | Remark]:
    """Yield advice on the rank that this one waits for, and a remark if others wait for this one."""
    require_communication(subject)
    pairs = _find_waiting_ranks(subject)
    claim = subject.claim("late_rank", low=0.3, likely=0.7, high=1.0)
    late = _find_late_rank(pairs, subject.rank)
    if claim is not None and late is not None:
        rank, trace, waiting = late
        yield Advice(
            claim,
            title=f"Fix late rank {rank}, for which this one waits",
            fix=(
                f"Fix rank {rank} first: `traceq report DB --rank {rank}` shows how. Of the "
                f"{duration(claim.claimed_ns)} per step "
                f"that this rank waits in collectives, {share(waiting)} is for rank {rank}"
                f"{_describe_cause(subject, trace, claim.claimed_ns)}.{_describe_missing_ranks(subject)}"
            ),
            confidence="high" if waiting >= subject.threshold("late_rank", "most") else "medium",
            reason=(
                "The same collectives are recorded on both ranks: they are long here, and short on the rank "
                "that came last."
            ),
            wrong_if=("A rank that is not in the database is later still, or the traces come from different jobs."),
        )
    yield from _remark_own_lateness(subject, pairs)


def _find_waiting_ranks(subject: Subject) -> list[dict[str, Any]]:
    """Return the job's rows of which rank waits for which; raise CannotTell where the ranks' collectives cannot be matched."""
    others = subject.ask("late_rank_others")[0]
    if not others["ranks"]:
        raise CannotTell(
            "no other rank of this job is in the database, or one is there twice; ingest all of them with "
            "traceq ingest rank*.json (--run tells jobs apart)"
        )
    if not others["numbered"]:
        raise subject.lacks(
            "collectives have no sequence numbers and groups by which to match them between ranks",
            "matched_collectives",
            "brings them",
        )
    return subject.ask("late_rank_of_job")


def _find_late_rank(pairs: list[dict[str, Any]], rank: int | None) -> tuple[int, int, float] | None:
    """Return the rank that `rank` waits for longest, its trace id, and its share (0..1) of that waiting; None without waiting."""
    own = [pair for pair in pairs if pair["waiting_rank"] == rank]
    if not own:
        return None
    most = max(own, key=lambda pair: (pair["waiting_ns"], -pair["late_rank"]))
    return most["late_rank"], most["late_trace"], most["waiting_ns"] / sum(pair["waiting_ns"] for pair in own)


def _describe_missing_ranks(subject: Subject) -> str:
    """Return a sentence on how many ranks of the job are in the database; "" if all are, or their number is unknown."""
    ranks = 1 + subject.ask("late_rank_others")[0]["ranks"]
    if not subject.world_size or ranks >= subject.world_size:
        return ""
    return f" Only {ranks} of {subject.world_size} ranks are in the database; another may be later still."


def _describe_cause(subject: Subject, late_trace: int, waiting: float) -> str:
    """Return the end of a sentence on the category that the late rank's step has more of.

    `waiting` is this rank's waiting, ns per step, that the difference must explain in part.
    """
    causes = subject.ask("late_rank_cause", late_trace=late_trace)
    if not causes or causes[0]["more_ns"] < subject.threshold("late_rank", "explains") * waiting:
        return ", with no single dominant cause"
    most = causes[0]
    what = _WHAT.get(most["category"], "that is most of the difference")
    return (
        f", whose step has {duration(most['late_ns'])} of {most['category']} where this one has {duration(most['own_ns'])}: "
        f"{what}"
    )


def _remark_own_lateness(subject: Subject, pairs: list[dict[str, Any]]) -> Iterator[Remark]:
    caused: dict[int, float] = defaultdict(float)
    for pair in pairs:
        caused[pair["late_rank"]] += pair["waiting_ns"]
    own = [pair for pair in pairs if pair["late_rank"] == subject.rank]
    limits = subject.thresholds("late_rank")
    if not own or caused[own[0]["late_rank"]] < limits["most"] * sum(caused.values()):
        return
    most = max(own, key=lambda pair: (pair["waiting_ns"], -pair["waiting_rank"]))
    if most["waiting_ns"] < limits["worth"] * most["step_ns"]:
        return
    yield Remark(
        title="Other ranks wait for this one",
        text=(
            f"Rank {subject.rank} is the last to arrive at collectives: {len(own)} of the other ranks wait for it, "
            f"up to {duration(most['waiting_ns'])} "
            f"per step (rank {most['waiting_rank']}). Whatever this rank saves, they all save."
        ),
        query="late_rank_of_job",
        fix="Start with this rank's findings on its host, its input and its kernels.",
    )
