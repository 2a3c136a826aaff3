"""PyTorch's allocator of GPU memory, and CUDA's launches: what only the environment sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import SWITCH, Knob, KnobHooks, is_on


def _set_segments(value: str) -> Mapping[str, str]:
    text = f"expandable_segments:{is_on(value)}"
    return {"PYTORCH_CUDA_ALLOC_CONF": text, "PYTORCH_ALLOC_CONF": text}


def _set_blocking(value: str) -> Mapping[str, str]:
    return {"CUDA_LAUNCH_BLOCKING": str(int(is_on(value)))}


KNOBS = (
    Knob("expandable_segments", "GPU memory in segments that grow", SWITCH, is_on, _set_segments),
    Knob("launch_blocking", "launches that wait for their kernels", SWITCH, is_on, _set_blocking),
)


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Note these knobs as active at the first step if the program uses CUDA; their values act through environment variables."""

    def first_step() -> None:
        if torch.cuda.is_initialized():
            hooks.acted.update(values)

    hooks.reasons |= dict.fromkeys(values, "the program does not use CUDA")
    hooks.at_first_step.append(first_step)
