"""Migrations of unified memory.

What it finds
    Pages of managed memory that move between host and GPU while nothing else runs on the GPU, and kernels that wait
    for pages they touch.

Why it matters
    A page that is not where it is touched stops whoever touches it: the driver handles the fault and moves the page
    in small pieces, at a fraction of what the link carries. The same data moves faster and beside computation when
    the program asks for it in time, and not at all when it stays where it is used.

How it is measured
    The exposed time of copies of kind um (copy_overlap). Beside that, of every kernel the larger of two times: that
    of migrations to the device that ran beside it in pieces below 2 MiB (cudaMemPrefetchAsync moves whole blocks of
    2 MiB, faults bring smaller ones), and that of the page faults of the GPU served during it, where the trace has
    them (page_fault). Low, likely and high share: 0.2, 0.6 and 1, since data that is needed has to be moved in some
    way. What waits for a migration is not recorded, so its time counts in full, where a replay would decide for
    other copies.

What to try
    Move what a kernel needs before it starts (cudaMemPrefetchAsync), tell the driver who reads and writes
    (cudaMemAdvise), initialise data on the GPU, or use cudaMalloc and explicit copies of pinned memory.

References
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#unified-memory-programming
    https://developer.nvidia.com/blog/maximizing-unified-memory-performance-cuda/
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import short_size
from traceq.diagnosis.advice import Advice
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared.copies import cut
from traceq.diagnosis.subject import Subject

_PREFETCH_BYTES = 2 << 20


def judge(subject: Subject) -> Iterator[Advice]:
    """Migrations, and kernels that wait for them."""
    subject.needs("gpu", "steps")
    if not subject.present["migrations"]:
        raise NothingThere("no unified memory migrated")
    claim = subject.claim("unified_memory", low=0.2, likely=0.6, high=1.0, prefetch_bytes=_PREFETCH_BYTES)
    if claim is None:
        return
    (facts,) = subject.ask("unified_memory_facts")
    yield Advice(
        claim,
        fix=f"{_seen(facts)} {_kernels(subject.worst(claim))}{_remedy(facts['prefetches'])}",
        confidence="high" if subject.has("launches") else "medium",
        reason="The driver recorded the migrations; that kernels waited for those beside them is inferred.",
        wrong_if="The pages are touched by host and GPU in turns by design, and each side needs all of them.",
    )


def _seen(facts: dict[str, int]) -> str:
    text = (
        f"The counted steps have {facts['migrations_h2d']:,} migrations to the device ({short_size(facts['bytes_h2d'])}) and "
        f"{facts['migrations_d2h']:,} to the host ({short_size(facts['bytes_d2h'])})"
    )
    faults = facts["gpu_faults"]
    return f"{text}, and {faults:,} page faults of the GPU." if faults else f"{text}."


def _kernels(rows: list[dict[str, object]]) -> str:
    waiting = next((row for row in rows if row["cause"] == "compute"), None)
    return f"The kernel {cut(str(waiting['name']))} waits for pages while it runs. " if waiting else ""


def _remedy(prefetches: int) -> str:
    move = "cudaMemPrefetchAsync(pointer, bytes, device, stream)"
    advise = (
        "cudaMemAdvise(pointer, bytes, cudaMemAdviseSetReadMostly, device) keeps copies of what is only read, and data that "
        "only the GPU uses belongs in cudaMalloc, filled by cudaMemcpyAsync from pinned memory or by a kernel."
    )
    if prefetches:
        return (
            f"The program prefetches already (calls of cudaMemPrefetchAsync: {prefetches:,}), but pages still move one by "
            f"one: call {move} for the rest. {advise}"
        )
    return f"Before the first kernel that needs the data call {move}, and before the host reads with cudaCpuDeviceId. {advise}"
