"""One rank does more than the others, which wait for it.

What it finds
    Among the ranks of a job in the database (or the GPUs of one capture) the one that needs most time for its own
    part of a step, and what it has more of than the others.

Why it matters
    Ranks meet in collectives, so the slowest sets the pace of all. On the others the time shows as communication,
    where no tuning of communication wins it.

How it is measured
    Per rank and counted step the ledger (time_ledger) without waiting for others: without communication,
    idle_communication, idle_dependency and idle_launch_latency (which hides waits of streams). The most is at least
    10 % above the least, the limit that tools for stragglers use, and above it by 1 % of a step. Only traces with the
    same run and size of the job are compared; the remark stands with the slowest.

What to try
    Mend what the slowest has more of; with equal work per rank, look at its host and its GPU (clocks, neighbours).

References
    https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/index.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.wording import time
from traceq.diagnosis.subject import Subject

UNBALANCED = 1.1
WORTH_A_REMARK = 0.01
COMPUTE = "compute"


def judge(subject: Subject) -> Iterator[Remark]:
    """The rank that the others wait for."""
    subject.needs("gpu", "steps")
    if subject.is_whole_trace:
        raise CannotTell("the whole trace is one step: ranks cannot be compared; traceq.annotate marks steps")
    units = subject.ask("rank_imbalance")
    if len(units) <= 1:
        if (subject.world_size or 1) > 1:
            raise CannotTell(
                f"one of {subject.world_size} ranks is in the database; traceq ingest of the other ranks' traces "
                "into it brings them"
            )
        raise NothingThere("the trace names no other rank")
    slowest, fastest = units[0], units[-1]
    difference = slowest["own_ns"] - fastest["own_ns"]
    if slowest["own_ns"] < UNBALANCED * fastest["own_ns"] or difference < WORTH_A_REMARK * slowest["step_ns"]:
        return
    if slowest["trace_id"] != subject.trace_id:
        raise NothingThere(f"{_name(slowest)} is the slow one: the remark stands there")
    yield Remark(
        text=(
            f"{_name(slowest)} needs {time(slowest['own_ns'])} a step without waiting for others, "
            f"{_name(fastest)} "
            f"{time(fastest['own_ns'])}, of {len(units)} compared. What it has most more of than the others is "
            f"{slowest['more_of']}: +{time(slowest['more_ns'])} a step. Its compute takes "
            f"{time(slowest['compute_ns'])}, "
            f"that of {_name(fastest)} {time(fastest['compute_ns'])}."
        ),
        query="rank_imbalance",
        fix=(
            f"Give {_name(slowest)} less work (shorter sequences, fewer layers or experts), or look for a slower GPU: "
            "nvidia-smi -q -d CLOCK,PERFORMANCE."
            if slowest["more_of"] == COMPUTE
            else f"Mend {slowest['more_of']} of {_name(slowest)} first, its findings say how; the collectives of the others "
            "then get shorter."
        ),
    )


def _name(unit: Mapping[str, Any]) -> str:
    return f"device {unit['device']}" if unit["rank"] is None else f"rank {unit['rank']} (device {unit['device']})"
