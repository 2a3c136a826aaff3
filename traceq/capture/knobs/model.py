"""Modes of the model: compiled, in lower precision, with channels last."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import SWITCH, Knob, KnobHooks, is_on, require_one_of
from traceq.capture.knobs.modules import change_models, device_of

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_TYPES = {"bf16": "bfloat16", "fp16": "float16"}

KNOBS = (
    Knob("amp", "autocast around the model", "bf16 or fp16", require_one_of(*_TYPES)),
    Knob("compile", "torch.compile of the model", "default, or another mode", require_one_of(*_MODES)),
    Knob("channels_last", "images with their channels last", SWITCH, is_on),
)


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Apply channels_last, amp and compile (text by knob) to each model at the end of its first step, which is never counted."""

    def change(model: Any) -> None:
        if "channels_last" in values:
            _lay_out(torch, model, hooks, last=is_on(values["channels_last"]))
        if "amp" in values:
            kind = device_of(model)
            model.forward = _make_cast(torch, model.forward, kind, getattr(torch, _TYPES[values["amp"]]))
            hooks.acted.add("amp")
        if "compile" in values:
            model.compile(mode=values["compile"])
            hooks.acted.add("compile")

    hooks.reasons |= dict.fromkeys(values, "no module with parameters is called in the first step")
    change_models(change, hooks)


def _make_cast(torch: Any, forward: Any, device: str, type_: Any) -> Any:
    @functools.wraps(forward)
    def cast(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(device, type_):
            return forward(*args, **kwargs)

    return cast


def _lay_out(torch: Any, model: Any, hooks: KnobHooks, *, last: bool) -> None:
    images = 4
    layout = torch.channels_last if last else torch.contiguous_format
    if not any(each.dim() == images for each in model.parameters()):
        hooks.reasons["channels_last"] = "the model has no convolution of images"
        return
    model.to(memory_format=layout)
    forward = model.forward

    @functools.wraps(forward)
    def laid_out(*args: Any, **kwargs: Any) -> Any:
        return forward(*(_laid(value) for value in args), **{name: _laid(each) for name, each in kwargs.items()})

    def _laid(value: Any) -> Any:
        is_image = isinstance(value, torch.Tensor) and value.dim() == images
        return value.contiguous(memory_format=layout) if is_image else value

    model.forward = laid_out
    hooks.acted.add("channels_last")
