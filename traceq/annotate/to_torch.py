"""Marks as records of the PyTorch profiler, where the program has imported torch.

`torch._C._profiler._RecordFunctionFast` costs a sixth of `torch.profiler.record_function`. In Kineto's files its records have
the category cpu_op. The profiler keeps begin and end of every record by itself, so records may cross, and may end in
another thread than they began in.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Protocol


class TorchRecord(Protocol):
    """A range of time that PyTorch's profiler records (record_function)."""

    def __enter__(self) -> object:
        """Begin the range; does nothing unless a profiler is on."""

    def __exit__(self, *exception: object) -> object:
        """End the range."""


# How a record is made, and the module that knows whether a profiler is on; None as long as torch is not there.
_make: Callable[[str], TorchRecord] | None = None
_profiler: Any = None

# The profiler of a process that waits for a daemon's word is turned on without Python's knowledge.
_may_be_remote = "KINETO_USE_DAEMON" in os.environ


def listens() -> bool:
    """Return whether a PyTorch profiler is on."""
    profiler = _profiler or _find()
    return profiler is not None and (profiler._is_profiler_enabled or _may_be_remote)  # noqa: SLF001 - no public way


def begin(name: str) -> TorchRecord | None:
    """Begin a record and return it; None where no PyTorch profiler is on."""
    if not listens() or _make is None:
        return None
    record = _make(name)
    record.__enter__()
    return record


def end(record: TorchRecord) -> None:
    """End a record. A record that began before the profiler was started is not in its file."""
    try:
        record.__exit__(None, None, None)
    except RuntimeError:
        # The profiler was started since the record began: torch asserts that there is one, and it is right to have none.
        return


def _find() -> Any:
    """Return the module in which PyTorch says whether a profiler is on; None until torch is imported completely."""
    global _make, _profiler  # noqa: PLW0603 - found once in a process
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "profiler") and _make is None:
        private = getattr(torch._C, "_profiler", None)  # noqa: SLF001 - the public one costs six times as much
        _make = getattr(private, "_RecordFunctionFast", None) or torch.profiler.record_function
        _profiler = torch.autograd.profiler
    return _profiler


def _forget_profiler() -> None:
    """Forget the profiler in a forked child: its copy of a running profiler would only fill, and nobody stops or reads it."""
    global _profiler, _may_be_remote
    if _profiler is not None and _profiler._is_profiler_enabled:  # noqa: SLF001 - as above
        _profiler, _may_be_remote = None, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_profiler)
