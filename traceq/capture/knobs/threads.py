"""Threads of PyTorch's operators on the CPU, and of the libraries beside it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import Knob, KnobHooks, parse_positive

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def _set_variables(value: str) -> Mapping[str, str]:
    return dict.fromkeys(_VARIABLES, value)


KNOBS = (Knob("threads", "threads that an operator may use on the CPU", "a number", parse_positive, _set_variables),)


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Set the number of PyTorch's threads to the value of `threads`; later calls of torch.set_num_threads do nothing.

    A forked process, such as a DataLoader's worker, may still set its own number.
    """
    turned_in, original = os.getpid(), torch.set_num_threads

    @functools.wraps(original)
    def set_num_threads(number: int) -> None:
        if os.getpid() != turned_in:
            original(number)

    original(int(values["threads"]))
    torch.set_num_threads = set_num_threads
    hooks.acted.add("threads")
