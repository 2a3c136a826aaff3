"""Few batches are ready when one takes long to make.

What it finds
    A loader whose workers have time left, and yet training waits: some batches take far longer than others, and too
    few are ready to bridge that.

Why it matters
    On average the workers are fast enough. A deeper queue lets the fast batches make up for the slow ones.

How it is measured
    Only where the operating system's calls of workers are traced, for without them slow workers look the same: they
    are busy less than 0.7 of their time (data_worker), of at least 5 fetches one in ten is at least 5 times as long
    as the median (even waits would mean that handing over is slow), and the training thread waits. Idle time of cause
    idle_data (idle_piece) counts by the share of waiting in the fetch. Shares: low 0.2, likely 0.7, high 1: how much
    a deeper queue bridges depends on how the slow batches follow one another.

What to try
    prefetch_factor above its default of 2; batches that cost alike; in_order=False where the order does not matter.

References
    https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import duration, share
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.inputs import input_facts, waiting_for_workers
from traceq.diagnosis.subject import Subject

# As in too-few-workers, so that one of the two holds.
_MOST_BUSY = 0.7
_TIMES_LONGER = 5
_LEAST_FETCHES = 5
# What a worker prepares ahead when nobody says otherwise.
_USUAL_DEPTH = 2


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time under uneven fetches although workers have time left."""
    subject.needs("gpu", "steps", "fetches")
    facts = input_facts(subject)
    busy = facts["worker_busy"]
    if busy is None:
        raise subject.lacks("how busy workers are is not traced", "worker_activity")
    is_uneven = facts["fetches"] >= _LEAST_FETCHES and facts["long_ns"] >= _TIMES_LONGER * facts["median_ns"]
    if busy >= _MOST_BUSY or not is_uneven:
        return
    claim = waiting_for_workers(subject, low=0.2, likely=0.7)
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"{facts['workers']} workers are busy only {share(busy)} of their time, and yet one fetch in ten takes "
            f"{duration(facts['long_ns'])} or more (median {duration(facts['median_ns'])}). Let more batches be ready: "
            f"DataLoader(..., prefetch_factor={2 * _USUAL_DEPTH}), twice the default. Where batches may come in any "
            "order, recent PyTorch also has DataLoader(..., in_order=False)."
        ),
        confidence="medium",
        reason="Workers are seen to wait while training waits now and then; that a deeper queue bridges it is inferred.",
        wrong_if="prefetch_factor is high already, or the slow batches come in long runs.",
    )
