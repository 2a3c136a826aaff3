"""Every step leaves memory behind.

What it finds
    Memory of the GPU or the host that grows in every counted step.

Why it matters
    It ends in a failure for want of memory, after hours. Typical are losses kept with their graph, lists of outputs,
    and hooks that hold tensors.

How it is measured
    memory_step.growth is above 0 in each counted step, at least 3 of them, with a median of at least 1 MiB (less is
    counters and buffers). Steps that warm up, which fill optimizer states and caches, are excluded from the start.

What to try
    Keep numbers, not tensors: loss.item() or loss.detach(). Compare two snapshots of the allocator to see who holds
    them.

References
    https://docs.pytorch.org/docs/stable/notes/faq.html
    https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traceq.common.units import bytes_in
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.subject import Subject

ENOUGH_STEPS = 3
LEAST_BYTES = 1 << 20


def judge(subject: Subject) -> Iterator[Remark]:
    """Memory that grows from step to step, of each kind."""
    subject.needs("steps", "several_steps", "memory_samples")
    settings = {"enough_steps": ENOUGH_STEPS, "least_bytes": LEAST_BYTES}
    for kind in subject.ask("memory_growth", **settings):
        yield Remark(text=_text(kind), query="memory_growth", fix=_fix(kind), key=kind["memory"], settings=settings)


def _text(kind: Mapping[str, Any]) -> str:
    text = (
        f"Memory ({kind['memory']}) grows in each of {kind['steps']} counted steps, by "
        f"{bytes_in('MiB', kind['growth_bytes'], 1)} MiB a step, "
        f"to {bytes_in('GiB', kind['allocated_bytes'], 2)} GiB."
    )
    if kind["capacity_bytes"]:
        steps = (kind["capacity_bytes"] - kind["allocated_bytes"]) / kind["growth_bytes"]
        text += f" At this rate the GPU is full after {max(0, steps):,.0f} more steps."
    return text


def _fix(kind: Mapping[str, Any]) -> str:
    if kind["memory"] == "host":
        return (
            "Look for what collects tensors on the host: outputs.append(out.cpu()) in the loop, a dataset or cache "
            "that keeps what it "
            "has read."
        )
    return (
        "Look for tensors that outlive the step: total += loss keeps each graph, total += loss.item() or "
        "loss.detach() does not. "
        "torch.cuda.memory._record_memory_history() and _dump_snapshot() name the lines that allocated what is left."
    )
