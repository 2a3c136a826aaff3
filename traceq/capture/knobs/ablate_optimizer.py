"""The program without its optimizer: a step of it does nothing."""

from __future__ import annotations

import functools
from typing import Any

from traceq.capture.knobs.knob import Hooks

WHAT = "the optimizer: its step changes no parameter"

_MARK = "_traceq_skips"


def apply(torch: Any, hooks: Hooks) -> None:
    """Let steps of optimizers that are made from now on do nothing; a closure is run, as it holds forward and backward.

    Below the recorder's own wrapper, which finds the steps of the training by them.
    """
    optimizer = torch.optim.Optimizer
    original = getattr(optimizer, "_patch_step_function", None)
    if original is None:
        hooks.reasons["optimizer"] = "this version of PyTorch makes optimizers in another way"
        return
    hooks.reasons["optimizer"] = "no optimizer of PyTorch made a step"

    def _patch_step_function(self: Any) -> None:
        original(self)
        class_ = type(self)
        if not hasattr(class_.step, _MARK):
            class_.step = _make_skip(class_.step, hooks)

    optimizer._patch_step_function = _patch_step_function  # noqa: SLF001 - as traceq.capture.watch does


def _make_skip(step: Any, hooks: Hooks) -> Any:
    @functools.wraps(step)
    def skip(_self: Any, closure: Any = None, **_kwargs: Any) -> Any:
        hooks.acted.add("optimizer")
        return None if closure is None else closure()

    setattr(skip, _MARK, True)
    return skip
