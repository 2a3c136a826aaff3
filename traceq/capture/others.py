"""Other profilers in the same process.

PyTorch (2.13) neither refuses a second profiler nor runs both: the second takes the session of the first, and the first
crashes the process when it stops or exports. So before a session, and as long as it lasts, this is looked for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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


class Watch:
    """Notices every profiler that is started by others, from now until `end`."""

    def __init__(self) -> None:
        from torch.autograd import profiler

        self.noticed = False
        self._is_own = False
        self._module = profiler
        self._originals = {name: getattr(profiler, name) for name in _STARTERS}
        self._replacements = {name: self._noticing(original) for name, original in self._originals.items()}
        for name, replacement in self._replacements.items():
            setattr(profiler, name, replacement)

    def _noticing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*args: Any, **kwargs: Any) -> Any:
            self.noticed |= not self._is_own
            return original(*args, **kwargs)

        return start

    @contextmanager
    def own(self) -> Iterator[None]:
        """What is started in this block is not another's."""
        self._is_own = True
        try:
            yield
        finally:
            self._is_own = False

    def end(self) -> None:
        """Look no longer."""
        for name, replacement in self._replacements.items():
            # Where somebody has since put a function of their own, ours stays below theirs, and does nothing.
            if getattr(self._module, name) is replacement:
                setattr(self._module, name, self._originals[name])
