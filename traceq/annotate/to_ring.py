"""Marks for a ring of the last steps in memory (traceq.capture.slow_steps), which needs neither NVTX nor a profiler."""

from __future__ import annotations

import os
from typing import Any, Protocol


class MarkListener(Protocol):
    """Whoever keeps marks in memory."""

    def begin_mark(self, name: str) -> Any:
        """Note the begin of a mark of this thread; return what end_mark() takes, None where the mark is not kept."""

    def end_mark(self, mark: Any) -> None:
        """Note the end of a mark."""

    def note_instant(self, name: str) -> None:
        """Note a mark without duration."""


# At most one in a process.
listener: MarkListener | None = None


def _forget_listener() -> None:
    """Forget the listener in a forked child: the ring is the parent's."""
    global listener  # noqa: PLW0603 - one in a process
    listener = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_listener)
