"""Modes of optimizers: fused or foreach kernels, gradients set to None."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import SWITCH, Knob, KnobHooks, is_on

KNOBS = (
    Knob("fused", "one kernel that updates many parameters at once", SWITCH, is_on),
    Knob("foreach", "operators on whole lists of parameters", SWITCH, is_on),
    Knob("set_to_none", "zero_grad drops gradients (1) or zeroes them (0)", SWITCH, is_on),
)


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Use fused and foreach for optimizers made from now on, and set_to_none for each zero_grad; `values` is text by knob."""
    if "set_to_none" in values:
        _clear(torch, hooks, set_to_none=is_on(values["set_to_none"]))
    forms = {name: is_on(values[name]) for name in ("fused", "foreach") if name in values}
    if forms:
        _update(torch.optim.Optimizer, forms, hooks)


def _update(optimizer: Any, forms: Mapping[str, bool], hooks: KnobHooks) -> None:
    original = optimizer.__init__

    @functools.wraps(original)
    def __init__(self: Any, params: Any, defaults: dict[str, Any]) -> None:  # noqa: N807 - it becomes the method
        for name, on in forms.items():
            if name not in defaults:
                hooks.reasons[name] = f"{type(self).__name__} has no {name} form"
                continue
            # They exclude each other.
            defaults |= {"fused": None, "foreach": None} if on and "fused" in defaults else {}
            defaults[name] = on
            hooks.acted.add(name)
        original(self, params, defaults)

    optimizer.__init__ = __init__


def _clear(torch: Any, hooks: KnobHooks, *, set_to_none: bool) -> None:
    for class_ in (torch.optim.Optimizer, torch.nn.Module):
        class_.zero_grad = _make_zero_grad(class_.zero_grad, hooks, set_to_none=set_to_none)


def _make_zero_grad(original: Any, hooks: KnobHooks, *, set_to_none: bool) -> Any:
    @functools.wraps(original)
    def zero_grad(self: Any, *_args: Any, **_kwargs: Any) -> None:
        hooks.acted.add("set_to_none")
        original(self, set_to_none=set_to_none)

    return zero_grad
