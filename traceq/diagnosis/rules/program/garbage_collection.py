"""Python's garbage collector runs inside steps.

What it finds
    Time in which nothing runs on the GPU because Python looks for unreachable objects: events "Python GC" of
    PyTorch's profiler, frames of gc.collect(), ranges named so.

Why it matters
    A collection of the oldest generation looks at every object of the process: tens to hundreds of milliseconds
    with a large model or many cached samples. In a distributed job each rank pauses at another step, and all others
    wait.

How it is measured
    Slices whose names say so; the patterns are in the query. Claimed is the idle time inside them (idle_piece:
    idle_python, idle_launch, idle_sync, idle_os, idle_allocation, idle_unattributed). No threshold but that of all
    findings. Low 0.5, likely 1, high 1: a collection every few hundred steps remains.

What to try
    gc.collect() and gc.freeze() after the model is built, gc.disable(), then gc.collect(1) every few hundred steps,
    at the same step on all ranks. Remove gc.collect() and torch.cuda.empty_cache() from the loop.

References
    https://docs.python.org/3/library/gc.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.wording import names, time
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time inside collections."""
    subject.needs("gpu", "steps")
    claim = subject.claim("named_idle", low=0.5, likely=1.0, topic="collection")
    if claim is None:
        (facts,) = subject.ask("garbage_collection_facts")
        if facts["collections"]:
            raise NothingThere("the GPU was busy while garbage was collected")
        raise subject.lacks("nothing in the trace names a collection", "collections", "bring it")
    worst = subject.worst(claim)
    asked_for = any("collect" in str(row["name"]) for row in worst)
    first = (
        f"The program asks for it ({names(worst[:3])}): take that call out of the loop, or make it every few hundred steps."
        if asked_for
        else "Freeze what lives as long as training, and collect when you choose: after building model and loader "
        "`gc.collect(); gc.freeze(); gc.disable()`, then `if step % 500 == 0: gc.collect(1)`."
    )
    yield Advice(
        claim,
        fix=(
            f"{first} It costs {time(claim.claimed_ns)} per step on average, up to {time(claim.row['longest_ns'])} at a time. "
            "In a distributed job let all ranks do it at the same step, so that they do not wait for one another."
        ),
        confidence="high",
        reason="The trace names the collection.",
        wrong_if="Memory of the host grows without bounds once it is off: then objects in cycles are made in every step.",
    )
