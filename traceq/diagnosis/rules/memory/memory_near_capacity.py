"""GPU memory is nearly full.

What it finds
    Steps in which more than 90 % of the GPU's memory is taken, and whether by tensors or by what the allocator keeps.

Why it matters
    A slightly larger batch or a longer sequence then fails, and the allocator returns cached blocks and asks for them
    again, which stops the GPU. The context, NCCL and other processes need memory that no sample shows.

How it is measured
    The highest peak of the counted steps, and what was reserved then, over the capacity (memory_step). From 90 % on,
    where PyTorch's own tools warn. Where the source tells changes and not totals the true peak can only be higher.

What to try
    Activation checkpointing, sharded optimizer states (ZeRO, FSDP), lower precision, a smaller batch; when only the
    allocator's cache is large: expandable segments.

References
    https://docs.pytorch.org/docs/stable/checkpoint.html
    https://docs.pytorch.org/docs/stable/notes/cuda.html
    https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.common.units import bytes_in
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell
from traceq.diagnosis.rules.shared.wording import percent
from traceq.diagnosis.subject import Subject

NEARLY_FULL = 0.9


def judge(subject: Subject) -> Iterator[Remark]:
    """The peak of allocated or reserved memory, near the capacity."""
    subject.needs("gpu", "steps", "memory_samples")
    rows = subject.ask("memory_near_capacity")
    if not rows:
        raise CannotTell("no samples of device memory in the counted steps")
    (peak,) = rows
    if peak["used_share"] is None:
        raise CannotTell("the trace does not say how much memory the GPU has")
    if peak["used_share"] < NEARLY_FULL:
        return
    of = f"of {bytes_in('GiB', peak['capacity_bytes'], 1)} GiB"
    if peak["peak_share"] >= NEARLY_FULL:
        yield Remark(
            text=(
                f"Tensors take {bytes_in('GiB', peak['peak_bytes'], 1)} GiB {of} ({percent(peak['peak_share'])}) in step "
                f"{peak['step']}."
            ),
            query="memory_near_capacity",
            fix=_tensors(subject),
        )
    else:
        yield Remark(
            text=(
                f"PyTorch's allocator holds {bytes_in('GiB', peak['reserved_bytes'], 1)} GiB {of} "
                f"({percent(peak['used_share'])}), though "
                f"tensors need {bytes_in('GiB', peak['peak_bytes'], 1)} GiB at most. NCCL and other processes get only what "
                "is left."
            ),
            query="memory_near_capacity",
            fix=(
                "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; let batches have one shape, the largest "
                "first. A larger "
                "batch still fits."
            ),
            title="GPU memory is nearly full of cached blocks",
            key="reserved",
        )


def _tensors(subject: Subject) -> str:
    shard = (
        f" With {subject.world_size} ranks, shard parameters and optimizer states: fully_shard(model), or "
        "ZeroRedundancyOptimizer."
        if (subject.world_size or 1) > 1
        else ""
    )
    return (
        "Trade time for memory before a run fails: torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) "
        "around the largest "
        f"blocks, bfloat16 by torch.autocast, optimizer.zero_grad(set_to_none=True), or a smaller batch.{shard}"
    )
