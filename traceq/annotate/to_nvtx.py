"""Marks as NVTX ranges of the domain traceq, where nvtx is installed and a tool listens.

Ranges that are pushed and popped belong to a thread and must nest. A mark that lets other code of its thread run before it
ends (in a generator or a coroutine) is a start/end range instead, which knows no thread and may cross others.
"""

from __future__ import annotations

import os
import threading
import warnings
from importlib import import_module
from typing import Any

_DOMAIN = "traceq"
_COLOURS = {
    "traceq.step#": 0xFF9E9E9E,
    "traceq.phase#": 0xFF00ACC1,
    "traceq.phase#forward": 0xFF43A047,
    "traceq.phase#backward": 0xFF1E88E5,
    "traceq.phase#optimizer": 0xFF8E24AA,
    "traceq.phase#data": 0xFFFB8C00,
    "traceq.phase#evaluate": 0xFFFDD835,
    "traceq.phase#checkpoint": 0xFF6D4C41,
    "traceq.fetch#": 0xFFFB8C00,
    "traceq.module#": 0xFF7CB342,
    "traceq.payload#": 0xFF546E7A,
}
_OTHER_COLOUR = 0xFF00ACC1
# No two of these names are the same: to keep them would only fill memory.
_UNBOUNDED = ("traceq.step#", "traceq.payload#")
_MOST_KEPT = 4096

# Whether a tool listens, or has not been looked for.
may_listen = True

# nvtx's Domain, once it has been looked for; None where nobody listens.
_domain: Any = None
_attributes: dict[str, Any] = {}


class Pushed:
    """A range on the stack of the thread that pushed it; once `ended`, it may still wait to be popped by its thread."""

    __slots__ = ("ended", "stack")

    def __init__(self, stack: list[Pushed]) -> None:
        self.stack = stack
        self.ended = False


class _OpenRanges(threading.local):
    """The ranges that each thread has pushed and not popped."""

    def __init__(self) -> None:
        self.stack: list[Pushed] = []


Range = Pushed | int

_threads = _OpenRanges()


def begin(name: str, *, crosses: bool = False) -> Range | None:
    """Begin an NVTX range and return it; None if no tool listens. With `crosses`, the range need not nest with others."""
    domain = _domain or _find()
    if domain is None:
        return None
    attributes = _attributes.get(name) or _describe(domain, name)
    if crosses:
        number: int = domain.start_range(attributes)
        return number
    stack = _threads.stack
    while stack and stack[-1].ended:
        _pop(stack)
    domain.push_range(attributes)
    pushed = Pushed(stack)
    stack.append(pushed)
    return pushed


def end(range_: Range) -> None:
    """End a range, and with it the ranges pushed after it on its thread that are still open.

    From another thread the range is only marked as ended: it is popped when its own thread begins the next mark.
    """
    if isinstance(range_, int):
        _domain.end_range(range_)
        return
    range_.ended = True
    stack = range_.stack
    if stack is _threads.stack and range_ in stack:
        while _pop(stack) is not range_:
            pass


def instant(name: str) -> None:
    """Write an NVTX mark without duration, if a tool listens."""
    domain = _domain or _find()
    if domain is not None:
        domain.mark(_attributes.get(name) or _describe(domain, name))


def _pop(stack: list[Pushed]) -> Pushed:
    """End the innermost NVTX range of this thread, take it off `stack`, and return it."""
    _domain.pop_range()
    pushed = stack.pop()
    pushed.ended = True
    return pushed


def _describe(domain: Any, name: str) -> Any:
    """Return NVTX attributes (colour and text) for a mark of this name; of kinds with few names they are remembered."""
    kind = name.partition("#")[0] + "#"
    attributes = domain.get_event_attributes(color=_COLOURS.get(name) or _COLOURS.get(kind, _OTHER_COLOUR))
    # The function behind the cache: nvtx would keep every name for ever.
    attributes.message = type(domain).get_registered_string.__wrapped__(domain, name)
    if kind not in _UNBOUNDED and len(_attributes) < _MOST_KEPT:
        _attributes[name] = attributes
    return attributes


def _find() -> Any:
    """Return the NVTX domain of traceq, None if no tool listens. The domain is looked for once in a process."""
    global _domain, may_listen  # noqa: PLW0603 - found once in a process
    if may_listen:
        _domain = _open()
        may_listen = _domain is not None
    return _domain


def _open() -> Any:
    """Return the NVTX domain of traceq; None if nvtx is missing, too old (with a warning) or says that no tool listens."""
    try:
        nvtx = import_module("nvtx")
    except ImportError:
        return None
    if not nvtx.enabled():
        return None
    if not hasattr(nvtx, "Domain"):
        warnings.warn("nvtx is too old for traceq's marks: pip install 'nvtx>=0.2.12'", RuntimeWarning, stacklevel=2)
        return None
    domain = nvtx.get_domain(_DOMAIN)
    if not isinstance(domain, nvtx.Domain):
        return _open_unasked(nvtx) if "NVTX_INJECTION64_PATH" in os.environ else None
    return domain


def _open_unasked(nvtx: Any) -> Any:
    """Return an NVTX domain for tools that cannot say whether the domain is enabled.

    nvtx asks since 0.2.12 by an extension of NVTX. Nsight Systems of 2022 and 2023 refuses the extension, though it records
    ranges; nvtx takes that for no, and then hands out a domain that does nothing.
    """
    domain = object.__new__(nvtx.Domain)
    domain.handle = nvtx._lib.lib.DomainHandle(_DOMAIN)  # noqa: SLF001 - the public way asks
    domain.__init__(_DOMAIN)
    return domain


def _forget_ranges() -> None:
    """Forget the open ranges in a forked child: only the parent may pop them."""
    global _threads  # noqa: PLW0603 - as above
    _threads = _OpenRanges()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_ranges)
