"""PyTorch's allocator holds much more memory than tensors use.

What it finds
    Reserved memory far above allocated memory at the time when most is allocated, on a GPU that is half full.

Why it matters
    What is reserved in blocks that fit nothing can be used by nobody: a run fails for want of memory that is there.
    When the allocator has to return blocks and ask for others, the GPU waits for it.

How it is measured
    memory_step.peak_unused is at least 20 % of the memory reserved at the peak, and that at least 50 % of the
    capacity: below, nothing presses. Calls that allocate and release memory in the counted steps (allocator_call)
    show that it already costs time. It can also be the cache of a larger peak before the capture (an evaluation, a
    longer batch).

What to try
    Expandable segments; batches of few shapes, the largest first; no tensors that outlive a step among those that do
    not.

References
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

UNUSED = 0.2
PRESSING = 0.5


def judge(subject: Subject) -> Iterator[Remark]:
    """Reserved, not allocated, and much of the GPU."""
    subject.needs("gpu", "steps", "memory_samples")
    rows = subject.ask("memory_fragmentation")
    if not rows:
        raise subject.lacks("the trace does not say what PyTorch's allocator reserved", "allocator")
    (peak,) = rows
    if peak["reserved_share"] is None:
        raise CannotTell("the trace does not say how much memory the GPU has")
    if peak["unused_share"] < UNUSED or peak["reserved_share"] < PRESSING:
        return
    calls = peak["allocations"] + peak["releases"]
    yield Remark(
        text=(
            f"When tensors take most ({bytes_in('GiB', peak['peak_bytes'], 1)} GiB, step {peak['step']}), the allocator holds "
            f"{bytes_in('GiB', peak['reserved_bytes'], 1)} of {bytes_in('GiB', peak['capacity_bytes'], 1)} GiB: "
            f"{bytes_in('GiB', peak['unused_bytes'], 1)} GiB "
            f"({percent(peak['unused_share'])}) are in no tensor."
            + (f" It calls for memory {calls} times in the counted steps." if calls else "")
        ),
        query="memory_fragmentation",
        fix=(
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before the program starts. If that changes "
            "nothing, it is the cache "
            "of a larger peak before: torch.cuda.memory._record_memory_history() shows which."
        ),
    )
