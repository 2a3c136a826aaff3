"""Tensors made on the host and copied to the GPU at once.

What it finds
    torch.zeros(...), torch.arange(...) and the like on the host, followed by .to(device) or .cuda() of the result.

Why it matters
    The GPU can make such a tensor itself with one small kernel. Made on the host it costs the time of the host, a
    copy of pageable memory, and a wait for the GPU, since the host is held until the copy is done.

How it is measured
    Operators that make tensors (aten::zeros, ones, full, eye, arange, linspace, rand, randn, ...) and launch
    nothing, after which the next operator among these and copies, on the same thread, inside the same operator and
    annotation, and within 200 us (Python calls the one right after the other), copies to the device. Claimed are
    the exposed copy, idle_sync under the calls that wait for it, and the launching gaps that begin because such a
    call had let the GPU run dry, for not longer than the call held the host. Low, likely and high share: 0.5, 0.9
    and 1.

What to try
    Name the device when the tensor is made: torch.zeros(n, device=device).

References
    https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.copies import described
from traceq.diagnosis.rules.shared.wording import cut
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Copies of tensors that the GPU could have made."""
    makers = sorted({cut(row["name"].split(",")[0]) for row in subject.worst(claim) if row["direction"]})
    maker = makers[0].removeprefix("aten::") if makers else "zeros"
    return {
        "fix": f"{described(subject, claim)} They follow {', '.join(makers) or 'the making of a tensor'} on the host. Make the "
        f"tensor on the GPU: torch.{maker}(..., device=device) instead of torch.{maker}(...).to(device); a constant "
        "one is better made once, before the loop, or registered as a buffer of the module.",
    }
