"""Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import Knob, KnobHooks, require_one_of

KNOBS = (Knob("gc", "Python's garbage collections", "off", require_one_of("off")),)


def apply(_torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Disable Python's automatic garbage collection from the first step on, and gc.enable; gc.collect() still runs."""

    def off() -> None:
        gc.disable()
        gc.enable = lambda: None
        hooks.acted.update(values)

    hooks.at_first_step.append(off)
