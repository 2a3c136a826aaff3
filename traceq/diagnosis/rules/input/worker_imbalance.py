"""One worker of the loader has more to do than the others.

What it finds
    A worker process that is busy nearly all the time while the others mostly wait, and training waits for it.

Why it matters
    PyTorch takes batches from workers in turn: the slowest one sets the pace, and adding workers does not change
    that.

How it is measured
    Only where the operating system's calls of workers are traced: the busy share of each (data_worker.busy / dur).
    The busiest must be busy at least 0.8 of its time and 2.5 times as much as the median of the others (fewer is
    chance). Idle time of cause idle_data (idle_piece) counts by the share of waiting in the fetch. Shares: low 0.3,
    likely 0.7 (what it has too much the others have to take over), high 1.

What to try
    Shards of the same size, slow samples spread over workers, in_order=False.

References
    https://docs.pytorch.org/docs/stable/data.html#iterable-style-datasets
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from traceq.common.units import share
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.inputs import waiting_for_workers
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject

_LEAST_BUSY = 0.8
_TIMES_BUSIER = 2.5


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time under fetches that wait for the one busy worker."""
    subject.needs("gpu", "steps", "fetches")
    shares = [float(row["busy_share"]) for row in subject.ask("worker_imbalance_facts")]
    if not shares:
        raise subject.lacks("how busy each worker is is not traced", "worker_activity")
    if len(shares) == 1:
        raise NothingThere("there is one worker only")
    busiest, others = shares[0], median(shares[1:])
    if busiest < _LEAST_BUSY or busiest < _TIMES_BUSIER * others:
        return
    claim = waiting_for_workers(subject, low=0.3, likely=0.7)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"One of {len(shares)} workers is busy {share(busiest)} of its time, the others {share(others)}, and the GPU idles "
            f"{per_step(subject, claim.claimed_ns)}. Give all the same work: with an IterableDataset split the shards evenly "
            "by torch.utils.data.get_worker_info(), shards[info.id::info.num_workers], as many shards as a multiple of the "
            "workers. Where the order of batches does not matter, recent PyTorch has DataLoader(..., in_order=False)."
        ),
        confidence="medium",
        reason="The calls of all workers were recorded; that training waits for the busy one is inferred.",
        wrong_if="The others wait for something else, such as a lock that the busy one holds.",
    )
