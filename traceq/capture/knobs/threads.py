"""Threads of PyTorch's operators on the CPU, and of the libraries beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import Hooks, Knob, positive

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def _environment(value: str) -> Mapping[str, str]:
    return dict.fromkeys(_VARIABLES, value)


KNOBS = (Knob("threads", "threads that an operator may use on the CPU", "a number", positive, _environment),)


def apply(torch: Any, values: Mapping[str, str], hooks: Hooks) -> None:
    """Set them; what the program sets itself counts no more."""
    torch.set_num_threads(int(values["threads"]))
    torch.set_num_threads = lambda _threads: None
    hooks.acted.add("threads")
