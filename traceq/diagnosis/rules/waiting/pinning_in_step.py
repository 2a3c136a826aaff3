"""Host memory is pinned inside steps.

What it finds
    cudaHostAlloc, cudaHostRegister, cudaFreeHost and the like in the training loop.

Why it matters
    Pinning asks the operating system page by page: it takes far longer than the copy that it speeds up, unless the
    memory is used again. The GPU idles meanwhile.

How it is measured
    Idle time of cause idle_allocation (idle_piece) in calls whose operation in allocator_call is pin or unpin. Only
    with steps: what setting up pins is no fault. Shares: low 0.5, likely 1, high 1: nothing takes the place of a call
    that is not made.

What to try
    Pin buffers once and use them again; let the loader's thread pin.

References
    https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
    https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#pinned-memory
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.allocations import calls, described, needs_steps
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject

_OPERATIONS = ("pin", "unpin")


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time in calls that pin memory."""
    needs_steps(subject)
    claim = subject.claim("allocation_call", low=0.5, likely=1.0, kind="pin")
    if claim is None:
        return
    yield Advice(
        claim,
        fix=(
            f"Host memory is pinned inside steps, and the GPU idles {per_step(subject, claim.claimed_ns)} for it: "
            f"{described(subject, calls(subject, _OPERATIONS))}. Pin once, buffer = torch.empty(shape, pin_memory=True), "
            "and fill it with buffer.copy_(batch) in each step, or let the loader's thread pin ahead: "
            "DataLoader(..., pin_memory=True)."
        ),
        confidence="high",
        reason="The calls are in the trace, and the GPU has nothing to do during them.",
        wrong_if="The captured steps are the first of the run, whose buffers are used again later.",
    )
