"""The optimizer updates parameters one by one.

What it finds
    An optimizer step that launches kernels for each parameter on its own (foreach=False, an optimizer of one's own,
    an old PyTorch), instead of a few kernels for all parameters.

Why it matters
    A model has hundreds of parameter tensors, most of them small. Launching several kernels for each takes the host
    longer than the GPU needs, and the GPU idles between them. foreach=True takes lists of parameters, fused=True
    does all of the update in one kernel per list.

How it is measured
    Kernels launched in phase optimizer (launch_state), except by clearing gradients, foreach and fused operators,
    kernels of multi_tensor_apply, of torch.compile (triton_) and graphs. The rule applies to steps with at least 50
    of them (a foreach optimizer needs a few dozen at most, for any number of parameters) whose median is below 10
    us (longer ones keep the GPU busy). Claimed are idle_launch, idle_python and idle_launch_latency in gaps that
    end with one (idle_piece; not after synchronizing calls), and half of the time of those below 10 us
    (busy_piece): that is what starting and ending a kernel takes of it. Low 0.4, likely 0.85, high 0.95.

What to try
    torch.optim.AdamW(..., fused=True), SGD and Adam likewise; foreach=True where fused is not there; torch.compile
    around optimizer.step() for an optimizer of one's own.

References
    https://docs.pytorch.org/docs/stable/optim.html
    https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html
"""

from __future__ import annotations

import re
from typing import Any

from traceq.diagnosis.claim import Claim
from traceq.diagnosis.rules.shared.wording import cut, plural
from traceq.diagnosis.subject import Subject


def words(subject: Subject, claim: Claim) -> dict[str, Any]:
    """Gaps and small kernels of the optimizer."""
    worst = subject.worst(claim)[0]
    named = re.match(r"Optimizer\.step#(\w+)\.step", str(worst["optimizer"]))
    optimizer = named[1] if named else "AdamW"
    return {
        "fix": f"One call for all parameters: `torch.optim.{optimizer}(model.parameters(), ..., fused=True)`, or foreach=True "
        f"where fused is not supported. {cut(str(worst['optimizer']))} launches {plural(worst['kernels'], 'small kernel')} "
        "per step, parameter by parameter. For an optimizer of your own: torch._foreach_mul_ and its like on lists of "
        "parameters, or `torch.compile(optimizer.step)`.",
        "confidence": "high" if named else "medium",
        "reason": "The profiler marks the optimizer's step, and its operators take one parameter each."
        if named
        else "Inferred from many short kernels in the phase that is named optimizer.",
    }
