"""The program without its communication: ranks under DistributedDataParallel do not exchange gradients."""

from __future__ import annotations

import functools
from typing import Any

from traceq.capture.knobs.knob import Hooks

WHAT = "communication: DistributedDataParallel exchanges no gradients (no_sync)"


def apply(torch: Any, hooks: Hooks) -> None:
    """Put each DistributedDataParallel that is made from now on into the state of no_sync, for good."""
    if not torch.distributed.is_available():
        hooks.reasons["communication"] = "this PyTorch has no torch.distributed"
        return
    hooks.reasons["communication"] = (
        "the program uses no DistributedDataParallel, and what else communicates (FSDP, explicit collectives) cannot be left out"
    )
    parallel: Any = torch.nn.parallel.DistributedDataParallel
    original = parallel.__init__

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
        original(self, *args, **kwargs)
        self.require_backward_grad_sync = False
        self.require_forward_param_sync = False
        hooks.acted.add("communication")

    parallel.__init__ = __init__
