"""The host waits for a value from the GPU.

What it finds
    Calls that bring a value from the GPU to the host and wait for it: .item(), .cpu() or .tolist() of small tensors,
    bool(tensor) in an if, float(loss), print(loss).

Why it matters
    The host cannot launch ahead. When it has its value the GPU's queue is empty, and the GPU idles until the host has
    launched again. A read of a queue that is empty already costs nothing.

How it is measured
    Idle time (idle_piece) in synchronizing calls under aten::item, aten::_local_scalar_dense or aten::is_nonzero, and
    in or right after (20 us, or same operator) copies to the host of up to 4 KiB, of up to 64 bytes where no operator
    shows that it is a tensor of PyTorch. And idle time after such a call in the gap that began while it held the host
    (idle_gap.drained_by), but no longer than it waited: so far ahead would the host be without it. Reads inside
    operators that need a size are data-dependent-shape. Shares: low 0.5 (other waits take its place, as far as the
    replay does not know them), likely 1, high 1.

What to try
    Keep values on the GPU; read them every N steps; torch.where instead of if; one read of several stacked values.

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.host_waits import described, host_wait, places
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time that reading values costs."""
    subject.needs("gpu", "steps", "launches")
    claim = host_wait(subject, "item", low=0.5, likely=1.0)
    if claim is None:
        return
    found = places(subject, claim)
    is_named = found[0]["operator"] is not None
    yield Advice(
        claim,
        fix=(
            f"The host waits for values from the GPU, and the GPU then for the host, {per_step(subject, claim.claimed_ns)}: "
            f"{described(subject, found)}. Keep the value on the GPU, loss_sum += loss.detach(), and read it seldom: "
            "if step % 50 == 0: print(loss_sum.item() / 50). Replace if tensor: by torch.where(condition, a, b). "
            "A value needed later can be copied without waiting: value.to('cpu', non_blocking=True), into pinned memory, and "
            "read after the event recorded behind it."
        ),
        confidence="high" if is_named else "medium",
        reason=(
            "The operator that reads the value, and the gap that follows it, are in the trace."
            if is_named
            else "A copy of a few bytes to the host, followed by waiting, is taken for the reading of a value."
        ),
        wrong_if="The host needs the value before it can decide what to launch next.",
    )
