"""The training thread works on batches that workers prepared.

What it finds
    Fetches from a DataLoader with worker processes in which the training thread does not wait for them but works
    itself: it unpacks, converts, collates or pins.

Why it matters
    More workers do not help: this part of the work is done by the one thread that also has to launch the GPU's work.

How it is measured
    data_fetch of loaders of kind multi_process: transform (PyTorch operators), python (frames that do not wait) and
    calls (CUDA and operating system calls that do not wait). Of a fetch in which they are at least half (else waiting
    for workers is the larger part, see too-few-workers), the idle time of cause idle_data (idle_piece) counts by
    their share. Shares: low 0.4, likely 1 (taking a batch over is not free), high 1.

What to try
    Do it in the workers: in the Dataset or collate_fn; return few large tensors; let pin_memory=True pin in a thread.

References
    https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
    https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traceq.common.units import share
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.inputs import busiest, input_facts, per_fetch
from traceq.diagnosis.rules.shared.wording import part, per_step
from traceq.diagnosis.subject import Subject

# Below half, waiting is the larger part of the fetch.
_LEAST_BUSY = 0.5

_FIXES = {
    "transform_ns": (
        "PyTorch operators",
        (
            "Move these operators into the Dataset or the collate function, which workers run: "
            "DataLoader(..., collate_fn=collate), so that workers return finished batches."
        ),
    ),
    "python_ns": (
        "Python code",
        (
            "Let the collate function return few large tensors and not lists of Python objects, which this thread has to "
            "unpack: DataLoader(..., collate_fn=lambda samples: torch.stack(samples))."
        ),
    ),
    "calls_ns": (
        "CUDA and operating system calls",
        (
            "Let the loader's own thread pin memory, DataLoader(..., pin_memory=True), and call neither pin_memory() nor "
            "to(device) inside the fetch."
        ),
    ),
}


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time under fetches in which the training thread works."""
    subject.needs("gpu", "steps", "fetches")
    claim = subject.claim("main_thread_collate", low=0.4, likely=1.0, least_busy=_LEAST_BUSY)
    facts = input_facts(subject)
    if claim is None:
        _refuse_if_blind(subject, facts)
        return
    most = max(_FIXES, key=lambda column: float(facts[column]))
    what, fix = _FIXES[most]
    yield Advice(
        claim,
        fix=(
            f"Workers prepare batches, but a fetch keeps the training thread busy for {per_fetch(facts)}, most with {what} "
            f"({share(part(facts[most], facts['fetch_ns']))}), and the GPU idles {per_step(subject, claim.claimed_ns)} for "
            f"it. {fix} {busiest(subject, facts)}"
        ).rstrip(),
        confidence="high" if subject.has("python_frames") or most == "transform_ns" else "medium",
        reason="What the training thread does inside its fetches was recorded.",
        wrong_if="The same work in the workers makes them the limit (too-few-workers).",
    )


def _refuse_if_blind(subject: Subject, facts: dict[str, Any]) -> None:
    """Where most of a fetch has no explanation, working and waiting look the same."""
    is_told = subject.has("python_frames") or subject.has("os_calls")
    if not is_told and part(facts["unexplained_ns"], facts["fetch_ns"]) > 1 - _LEAST_BUSY:
        raise subject.lacks("what the training thread does in its fetches is not traced", "fetch_work")
