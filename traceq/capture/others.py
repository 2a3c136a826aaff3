"""Other profilers in the same process.

PyTorch (2.13) neither refuses a second profiler nor runs both: the second takes the session of the first, and the first
crashes the process when it stops or exports. So before a session, and as long as it lasts, this is looked for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from traceq.capture.watch import replace_attribute

# What every profiler written in Python calls, torch.profiler and emit_nvtx alike.
_STARTERS = ("_prepare_profiler", "_enable_profiler")


def is_another_active() -> bool:
    """Return whether a PyTorch profiler records, or warms up, anywhere in this process."""
    from torch.autograd import profiler

    # No flag says that one warms up; its object does. This takes some ten milliseconds a million objects.
    return bool(profiler._is_profiler_enabled) or any(  # noqa: SLF001 - there is no public question
        type(found) is profiler.profile and vars(found).get("entered") and vars(found).get("kineto_results") is None
        for found in gc.get_objects()
    )


def watch_starts(then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` before any profiler of PyTorch's starts, emit_nvtx too; return the function that ends it."""
    from torch.autograd import profiler

    undo = ExitStack()
    for name in _STARTERS:
        undo.callback(replace_attribute(profiler, name, _call_before(then, getattr(profiler, name))))
    return undo.close


def _call_before(then: Callable[[], None], original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def start(*args: Any, **kwargs: Any) -> Any:
        then()
        return original(*args, **kwargs)

    return start


class Watch:
    """Notices every profiler that is started by others, from now until `end`."""

    def __init__(self) -> None:
        self.noticed = False
        self._is_own = False
        self.end = watch_starts(self._note_start)

    def _note_start(self) -> None:
        self.noticed |= not self._is_own

    @contextmanager
    def own(self) -> Iterator[None]:
        """Take the profilers that are started in this block for one's own."""
        self._is_own = True
        try:
            yield
        finally:
            self._is_own = False
