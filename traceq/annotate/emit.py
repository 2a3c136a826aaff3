"""Write marks to the tools: begin, end, instants, and the switch for all of them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from traceq.annotate import to_nvtx, to_ring, to_run_log, to_torch

_VARIABLE = "TRACEQ_ANNOTATE"
_CHOICES = {"all": (True, True), "nvtx": (True, False), "torch": (False, True), "off": (False, False)}

# What pop() needs to end a mark in NVTX, in the PyTorch profiler, in a ring of the last steps and in the log of the run.
Mark = tuple[to_nvtx.Range | None, to_torch.TorchRecord | None, Any, Callable[[], None] | None]


def _read_choice() -> tuple[bool, bool]:
    """Return whether marks go to NVTX and whether to PyTorch, by TRACEQ_ANNOTATE; warn about an unknown value."""
    choice = os.environ.get(_VARIABLE) or "all"
    if choice not in _CHOICES:
        expected = ", ".join(_CHOICES)
        warnings.warn(f"{_VARIABLE}={choice}: expected one of {expected}; taken as all", RuntimeWarning, stacklevel=2)
    return _CHOICES.get(choice, _CHOICES["all"])


_nvtx_wanted, _torch_wanted = _read_choice()
_on = _nvtx_wanted or _torch_wanted


def enable() -> None:
    """Write marks from now on; where TRACEQ_ANNOTATE had turned both tools off, to NVTX and the PyTorch profiler."""
    global _on, _nvtx_wanted, _torch_wanted  # noqa: PLW0603 - a switch of the process
    if not (_nvtx_wanted or _torch_wanted):
        _nvtx_wanted = _torch_wanted = True
    _on = True


def disable() -> None:
    """Write no more marks; marks that are open still end."""
    global _on  # noqa: PLW0603 - a switch of the process
    _on = False


def enabled() -> bool:
    """Return whether marks are switched on; they are written only where a tool listens."""
    return _on


def is_active() -> bool:
    """Return whether a mark would be written here and now: marks are on, and somebody listens.

    That is a profiler, a ring of steps or the log of the run.
    """
    return is_wanted() and (
        to_ring.listener is not None
        or to_run_log.is_on()
        or (_nvtx_wanted and to_nvtx.may_listen)
        or (_torch_wanted and to_torch.listens())
    )


def is_wanted() -> bool:
    """Return whether marks are on and this code runs, rather than being traced by torch.compile."""
    # In this order: what is compiled holds only as long as what the compiler has seen, and that must not be the switch.
    return not is_compiling() and _on


def is_compiling() -> bool:
    """Return whether torch.compile is tracing this code; it could not compile the code that writes marks."""
    compiler = sys.modules.get("torch.compiler")
    return compiler is not None and compiler.is_dynamo_compiling()


def push(name: str, *, crosses: bool = False) -> Mark | None:
    """Begin a mark and return it for pop(); None where marks are off.

    Marks of a thread must nest, except for those begun with `crosses`.
    """
    return begin(name, crosses=crosses) if is_active() else None


def pop(mark: Mark | None) -> None:
    """End a mark that push() returned, even if marks were switched off meanwhile; nothing for None.

    From another thread, or out of order, it ends as well as the profiler allows.
    """
    if mark is None:
        return
    range_, record, kept, write_line = mark
    if write_line is not None:
        write_line()
    if kept is not None and to_ring.listener is not None:
        to_ring.listener.end_mark(kept)
    if record is not None:
        to_torch.end(record)
    if range_ is not None:
        to_nvtx.end(range_)


def instant(name: str) -> None:
    """Write a mark without duration, if marks are on and a profiler listens."""
    if is_active():
        write_instant(name)


def begin(name: str, *, crosses: bool) -> Mark:
    """Begin a mark as push() does, for callers that have checked is_active()."""
    range_ = to_nvtx.begin(name, crosses=crosses) if _nvtx_wanted and to_nvtx.may_listen else None
    kept = to_ring.listener.begin_mark(name) if to_ring.listener is not None else None
    return range_, to_torch.begin(name) if _torch_wanted else None, kept, None


def with_line(mark: Mark, write_line: Callable[[], None]) -> Mark:
    """Return the mark with a function that writes a line to the log of the run when the mark ends."""
    return (*mark[:3], write_line)


def write_instant(name: str) -> None:
    """Write a mark as instant() does, for callers that have checked is_active()."""
    if to_ring.listener is not None:
        to_ring.listener.note_instant(name)
    if _nvtx_wanted:
        to_nvtx.instant(name)
    record = to_torch.begin(name) if _torch_wanted else None
    if record is not None:
        to_torch.end(record)
