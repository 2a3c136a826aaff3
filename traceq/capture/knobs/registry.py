"""All knobs and ablations by name, and putting them to work in a program. A new topic is a file and a line here."""

from __future__ import annotations

import difflib
import random
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from traceq.capture.knobs import (
    ablations,
    allocator,
    collector,
    loader,
    model,
    optimizers,
    precision,
    threads,
)
from traceq.capture.knobs.knob import Knob, KnobHooks

_TOPICS: tuple[ModuleType, ...] = (loader, precision, model, optimizers, threads, collector, allocator)

KNOBS: Mapping[str, Knob] = {knob.name: knob for topic in _TOPICS for knob in topic.KNOBS}

ABLATIONS: Mapping[str, Callable[[Any, KnobHooks], None]] = {
    "data": ablations.leave_out_data,
    "optimizer": ablations.leave_out_optimizer,
    "communication": ablations.leave_out_communication,
    "logging": ablations.leave_out_logging,
}

# The key of a setting's values under which an ablation stands.
ABLATE = "ablate"


def check(name: str, value: str) -> None:
    """Raise ValueError for an unknown knob or a value that the knob does not accept; the message lists the choices."""
    if name not in KNOBS:
        close = difflib.get_close_matches(name, KNOBS, n=2)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise ValueError(
            f"{name}: there is no such knob.{hint} Knobs are {', '.join(KNOBS)}, and any {{{name}}} in the command"
        )
    try:
        KNOBS[name].check(value)
    except ValueError as error:
        raise ValueError(f"{name}={value}: {error}; {KNOBS[name].what}: {KNOBS[name].values}") from error


def list_variables(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables, text by name, that the program needs from its start for these values of knobs."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if name in KNOBS:
            found |= KNOBS[name].environment(value)
    return found


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Apply these values (text by knob), and the ablation under `ablate`, in this process before the program builds anything.

    `hooks` gets which of them act, why others do not, and what is to be done at the first step.
    """
    for topic in _TOPICS:
        of_topic = {knob.name: values[knob.name] for knob in topic.KNOBS if knob.name in values}
        if of_topic:
            topic.apply(torch, of_topic, hooks)
    if ABLATE in values:
        ABLATIONS[values[ABLATE]](torch, hooks)


def seed_random(torch: Any, number: int) -> None:
    """Seed the random numbers of Python, PyTorch and, if it is imported, NumPy with `number`; the program may seed them anew."""
    random.seed(number)
    torch.manual_seed(number)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % 2**32)
