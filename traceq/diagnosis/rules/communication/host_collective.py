"""GPU idle: the host waits for other ranks.

What it finds
    Time in which nothing runs on the GPU while the launching thread is inside a collective or barrier that runs on
    the host: Gloo, MPI, UCX, torch.distributed.barrier.

Why it matters
    Such a call lasts until the last rank arrives, and the GPU gets no new work meanwhile. A barrier in every step
    makes all ranks as slow as the slowest one of each step, even where nothing needs them in step.

How it is measured
    The pieces of cause idle_communication in the counted steps (idle_piece), with the operation from host_collective.
    low 0.3, likely 0.8, high 1: a wait that the program needs (for a rank that is late) moves to the next collective;
    one that it does not need goes.

What to try
    Remove barriers from the step, or run them every N steps. Reduce metrics on the GPU by NCCL, with async_op=True,
    and read them later. Let all ranks do the same work before the call: it lasts as long as the last one needs.

References
    https://docs.pytorch.org/docs/stable/distributed.html
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, time
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """What is left of idle_communication."""
    worst = subject.worst(claim)[0]
    return {
        "fix": _fix(worst),
    }


def _fix(worst: dict[str, Any]) -> str:
    what = (
        f"The launching thread waits in {cut(worst['name'])} (up to {time(worst['claimed'])} of an idle GPU at a "
        "time). "
    )
    name = (worst["name"] or "").lower()
    if "barrier" in name:
        return (
            f"{what}Take the barrier out of the step, or keep it for every N-th: "
            "if step % 1000 == 0: torch.distributed.barrier()"
        )
    if name.startswith(("mpi_init", "mpi_finalize")):
        return (
            f"{what}That is the beginning or the end of the job: count steps only (traceq.annotate, or --step-range)."
        )
    if name.startswith("mpi"):
        return (
            f"{what}Start the transfer without waiting for it (MPI_Iallreduce, MPI_Isend and MPI_Irecv), launch the "
            "next "
            "GPU work, and call MPI_Wait only before the result is used."
        )
    return (
        f"{what}Do not wait for it at once: work = dist.all_reduce(x, group=cpu_group, async_op=True), then "
        "work.wait() where the "
        "result is used; or keep the tensor on the GPU and reduce it by NCCL "
        '(init_process_group("cpu:gloo,cuda:nccl")).'
    )
