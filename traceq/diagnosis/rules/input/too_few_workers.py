"""Training waits for the loader's workers.

What it finds
    Fetches from a loader with worker processes in which the training thread waits for a batch, and the GPU with it.

Why it matters
    The workers together make batches more slowly than the GPU uses them up; prefetching only delays that.

How it is measured
    Idle time of cause idle_data (idle_piece) under fetches from loaders with workers (data_fetch.loader_kind, or
    threads of workers in the trace), less the share in which the training thread itself works, if that is less than
    half. What nothing explains in such a fetch counts as waiting: the profiler does not see the queue. Where the
    trace shows workers, they must be busy at least 0.7 of their time: below that there are enough of them (see
    prefetch-depth and worker-imbalance). At least 3 fetches. Workers needed = workers x step / (step less this idle
    time), at most 16. Shares: low 0.3 (cores or storage may be the limit next), likely 0.9, high 1.

What to try
    More workers, cheaper transforms, data prepared in advance, decoding on the GPU.

References
    https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

import math
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.inputs import MOST_WORKERS, per_fetch
from traceq.diagnosis.rules.shared.wording import part, per_step, percent, time
from traceq.diagnosis.subject import Subject

# Workers that wait more than a third of their time are not what limits the loader.
_LEAST_BUSY = 0.7
# A batch may be late once; to say that workers are too few takes several.
_LEAST_FETCHES = 3
# Below this, a factor is less clear than a worker or two.
_WORTH_A_FACTOR = 1.3


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Idle time under fetches that wait for workers."""
    (facts,) = subject.ask("input_facts")
    if facts["fetches"] < _LEAST_FETCHES:
        raise CannotTell(
            f"fewer than {_LEAST_FETCHES} fetches were captured: one may be late for any reason; capture more steps"
        )
    busy = facts["worker_busy"]
    if busy is not None and busy < _LEAST_BUSY:
        raise NothingThere(f"workers are busy {percent(busy)} of their time: there are enough of them")
    is_direct = busy is not None or part(facts["waiting_ns"], facts["fetch_ns"]) >= 1 / 2
    return {
        "fix": f"Training waits for the loader's workers: a fetch takes {per_fetch(facts)}, and the GPU idles "
        f"{per_step(subject, claim.claimed_ns)} (a step takes {time(subject.step_ns)}) for it. "
        f"{_workers(subject, claim, facts)} If the machine has no more cores, make a batch cheaper: decode and resize "
        "in advance, or on the GPU (torchvision.io.decode_jpeg(..., device='cuda'), NVIDIA DALI).",
        "confidence": "high" if is_direct else "medium",
        "reason": "The training thread is seen to wait for workers."
        if is_direct
        else "The loader has workers, and nothing else is seen in its fetches: that they wait is inferred.",
    }


def _workers(subject: Subject, claim: Claim, facts: dict[str, Any]) -> str:
    """How many workers would keep up."""
    times = subject.step_ns / max(subject.step_ns - claim.claimed_ns, 1.0)
    if not facts["workers"]:
        more = f"about {times:.1f} times as many" if times >= _WORTH_A_FACTOR else "one or two more"
        return f"Start {more}, up to the cores per GPU: DataLoader(..., num_workers=N, persistent_workers=True)."
    needed = min(math.ceil(facts["workers"] * times), max(MOST_WORKERS, facts["workers"] + 1))
    busy = "" if facts["worker_busy"] is None else f", busy {percent(facts['worker_busy'])} of their time"
    return (
        f"{facts['workers']} workers are seen{busy}; about {needed} would keep up: "
        f"DataLoader(..., num_workers={needed}, persistent_workers=True)."
    )
