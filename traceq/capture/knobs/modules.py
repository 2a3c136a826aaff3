"""The model, as the first step shows it: the outermost modules with parameters that are called in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from traceq.annotate import emit
from traceq.capture.knobs.knob import KnobHooks


def change_models(change: Callable[[Any], None], hooks: KnobHooks) -> None:
    """Call `change`, at the end of the first step, with each outermost module with parameters that this step called.

    The modules are found by forward hooks, which are removed then, because they would lengthen the counted steps.
    """
    from torch.nn.modules import module

    models: dict[int, Any] = {}
    depth = 0

    def before(called: Any, _args: object) -> None:
        nonlocal depth
        if emit.is_compiling():
            return
        if depth == 0 and next(called.parameters(), None) is not None:
            models[id(called)] = called
        depth += 1

    def after(_called: object, _args: object, _result: object) -> None:
        nonlocal depth
        if not emit.is_compiling():
            depth = max(0, depth - 1)

    watching = (
        module.register_module_forward_pre_hook(before),
        module.register_module_forward_hook(after, always_call=True),
    )

    def first_step() -> None:
        for hook in watching:
            hook.remove()
        for model in models.values():
            change(model)

    hooks.at_first_step.append(first_step)


def device_of(model: Any) -> str:
    """Return the type of the device (cuda, cpu, ...) that holds the model's first parameter."""
    kind: str = next(model.parameters()).device.type
    return kind
