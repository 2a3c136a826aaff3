"""GPU memory is allocated by the driver inside steps.

What it finds
    cudaMalloc, cudaFree and the like in the training loop, where PyTorch's caching allocator should serve every
    tensor from memory that it has.

Why it matters
    Such calls are slow, cudaFree waits for the GPU, and the GPU idles meanwhile. They come from empty_cache() in the
    loop, from shapes that change, or from memory so full that cached blocks are given back.

How it is measured
    Idle time of cause idle_allocation (idle_piece) in calls whose operation in allocator_call is allocate, free, map
    or pool. Only with steps: what setting up allocates is no fault, nor are steps that count as warm-up. Shares: low
    0.5 (after a change of shapes some of it stays), likely 1, high 1.

What to try
    No empty_cache() in the loop, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, shapes that repeat, a larger first
    batch.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
    https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.empty_cache.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.allocations import calls, described, needs_steps
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject

_OPERATIONS = ("allocate", "free", "map", "pool")


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time in calls that allocate or release memory of the device."""
    needs_steps(subject)
    claim = subject.claim("allocation_call", low=0.5, likely=1.0, kind="memory")
    if claim is None:
        return
    found = calls(subject, _OPERATIONS)
    frees = any(row["operation"] == "free" for row in found)
    yield Advice(
        claim,
        fix=(
            f"The driver allocates inside steps, and the GPU idles {per_step(subject, claim.claimed_ns)} for it: "
            f"{described(subject, found)}. "
            + (
                "Memory is given back and fetched again: remove torch.cuda.empty_cache() from the loop; if there is none, memory "
                "is so full that PyTorch empties its cache: use a smaller batch or checkpointing. "
                if frees
                else "The cache of PyTorch keeps growing, as shapes change or are seen for the first time: pad to a few fixed "
                "shapes, and begin with the largest batch. "
            )
            + "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before starting Python. In CUDA C++ allocate before "
            "the loop, or use cudaMallocAsync."
        ),
        confidence="high",
        reason="The calls are in the trace, and the GPU has nothing to do during them.",
        wrong_if="The captured steps are the first of the run: then this is warm-up.",
    )
