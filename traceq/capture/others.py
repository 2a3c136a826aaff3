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

from traceq.capture.replace import replace

# What every profiler written in Python calls, torch.profiler and emit_nvtx alike.
_STARTERS = ("_prepare_profiler", "_enable_profiler")


def is_another_active() -> bool:
    """Whether a PyTorch profiler records, or warms up, anywhere in this process."""
    from torch.autograd import profiler

    # No flag says that one warms up; its object does. This takes some ten milliseconds a million objects.
    return bool(profiler._is_profiler_enabled) or any(  # noqa: SLF001 - there is no public question
        type(each) is profiler.profile and _has_begun(vars(each)) for each in gc.get_objects()
    )


def _has_begun(attributes: dict[str, Any]) -> bool:
    return bool(attributes.get("entered")) and attributes.get("kineto_results") is None


def watch_starts(then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` before any profiler of PyTorch's starts, emit_nvtx too; returns what ends it."""
    from torch.autograd import profiler

    undo = ExitStack()
    for name in _STARTERS:
        undo.callback(replace(profiler, name, _calling(then, getattr(profiler, name))))
    return undo.close


def _calling(then: Callable[[], None], original: Callable[..., Any]) -> Callable[..., Any]:
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
        self.end = watch_starts(self._notice)

    def _notice(self) -> None:
        self.noticed |= not self._is_own

    @contextmanager
    def own(self) -> Iterator[None]:
        """What is started in this block is not another's."""
        self._is_own = True
        try:
            yield
        finally:
            self._is_own = False
