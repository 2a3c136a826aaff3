"""A size that depends on data makes the host wait for the GPU.

What it finds
    Operators whose output has a size that only the GPU knows: nonzero, masked_select, indexing with a boolean mask,
    unique, repeat_interleave without output_size, bincount.

Why it matters
    PyTorch must read the size before it can allocate the output. The GPU's queue runs empty each time, and no CUDA
    graph can hold such an operator.

How it is measured
    Idle time (idle_piece) in synchronizing calls inside these operators, and after them in the gap that began while
    such a call held the host (idle_gap.drained_by), but no longer than it waited: so far ahead would the host be
    without it. Shares: low 0.4 (a masked computation does more work), likely 0.9, high 1.

What to try
    torch.where or multiplication by the mask instead of selecting; a fixed upper size with padding; output_size=.

References
    https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html
    https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
"""

from __future__ import annotations

from collections.abc import Iterator

from traceq.diagnosis.advice import Advice
from traceq.diagnosis.rules.shared.host_waits import described, host_wait, places
from traceq.diagnosis.rules.shared.wording import per_step
from traceq.diagnosis.subject import Subject

_FIXES = (
    ("repeat_interleave", "Say how long the result is: torch.repeat_interleave(x, repeats, output_size=n)."),
    ("unique", "Take unique values of data on the CPU, in the loader, or once per epoch and not per step."),
    ("bincount", "Count into a fixed length: counts.zero_().index_add_(0, x, torch.ones_like(x)), with counts of n elements."),
    (
        "",
        (
            "Compute on all elements and mask the result, loss = torch.where(mask, values, 0).sum() / mask.sum(), instead of "
            "selecting, values[mask]; where positions are needed, gather a fixed number of them: torch.topk(mask.int(), k)."
        ),
    ),
)  # fmt: skip


def judge(subject: Subject) -> Iterator[Advice]:
    """Idle time that reading sizes costs."""
    subject.needs("gpu", "steps", "launches")
    claim = host_wait(subject, "shape", low=0.4, likely=0.9)
    if claim is None:
        if not subject.has("operators") and not subject.ask("data_dependent_shape_ranges"):
            raise subject.lacks("no PyTorch operator is in the trace", "operator_ranges", "brings them")
        return
    found = places(subject, claim)
    operator = found[0]["operator"] or ""
    fix = next(text for name, text in _FIXES if name in operator)
    yield Advice(
        claim,
        fix=(
            f"The host waits for sizes that only the GPU knows, and the GPU then waits for the host, "
            f"{per_step(subject, claim.claimed_ns)}: {described(subject, found)}. {fix}"
        ),
        confidence="high",
        reason="The operators, the calls that wait inside them, and the gaps that follow are in the trace.",
        wrong_if="Few elements are selected, so that computing on all of them costs more than waiting.",
    )
