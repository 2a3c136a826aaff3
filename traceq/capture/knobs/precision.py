"""Switches of CUDA's libraries: TF32, and the search for the fastest convolution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import SWITCH, Knob, KnobHooks, is_on

KNOBS = (
    Knob("tf32", "float32 products and convolutions on tensor cores", SWITCH, is_on),
    Knob("cudnn_benchmark", "cuDNN tries its algorithms and takes the fastest", SWITCH, is_on),
)


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Set TF32 and cuDNN's benchmark mode (text by knob) now and again at the first step, since the program may change them."""

    def switch() -> None:
        if "tf32" in values:
            torch.set_float32_matmul_precision("high" if is_on(values["tf32"]) else "highest")
            torch.backends.cudnn.allow_tf32 = is_on(values["tf32"])
        if "cudnn_benchmark" in values:
            torch.backends.cudnn.benchmark = is_on(values["cudnn_benchmark"])

    def again() -> None:
        switch()
        if torch.cuda.is_initialized():
            hooks.acted.update(values)

    hooks.reasons |= dict.fromkeys(values, "the program does not use CUDA")
    switch()
    hooks.at_first_step.append(again)
