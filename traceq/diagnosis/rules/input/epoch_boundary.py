"""The first batch of an epoch is late.

What it finds
    The first fetch of a new iterator of a loader: workers are started again, and nothing is prefetched yet.

Why it matters
    Without persistent workers each epoch, and each validation, begins with starting processes, importing modules and
    filling the queue, and the GPU waits for all of it.

How it is measured
    Idle time of cause idle_data (idle_piece) in first fetches (data_fetch.is_first), less what a usual fetch of the
    loader takes, and of cause idle_python in the same gap as long as the making of the iterator took (iterator_dur).
    Without Python frames: fetches 10 times as long as the median (other reasons seldom come to that), at most one in
    5 of at least 5. Loaders that work in the training process have no workers to start and are left out. Shares: low
    0.5 (the queue has to be filled once all the same), likely 1, high 1.

What to try
    persistent_workers=True; one long iterator over several epochs.

References
    https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

from typing import Any

from traceq.common.units import duration
from traceq.diagnosis.claim import Claim
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Idle time in first fetches."""
    worst = subject.worst(claim)[0]
    is_seen = worst["is_first"] is not None
    making = f", after {duration(worst['iterator_ns'])} for making the iterator" if worst["iterator_ns"] else ""
    return {
        "fix": f"The {'first fetch of a new iterator' if is_seen else 'longest fetch'} takes {duration(worst['fetch_ns'])}, "
        f"others {duration(worst['usual_ns'])}{making}. Keep the workers: DataLoader(..., num_workers=4, "
        "persistent_workers=True), made once, before the loop over epochs. If epochs are short, draw several from one "
        "iterator, for instance with a sampler that repeats the data set.",
        "confidence": "high" if is_seen else "medium",
        "reason": "Frames show that the iterator was made right before this fetch."
        if is_seen
        else "Its length and rarity say so; frames that would show the making of an iterator are not in the trace.",
        "wrong-if": "The loader has persistent_workers=True already."
        if is_seen
        else "The long fetches are not at the beginning of an epoch: then a few batches are slow by themselves.",
        "title": None if is_seen else "A few fetches of input are much longer than the others",
    }
