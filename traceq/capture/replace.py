"""Functions of others, replaced for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def replace(place: Any, name: str, ours: Any) -> Callable[[], None]:
    """Put `ours` where `place` has `name`; returns what undoes it.

    Where somebody has wrapped it since, it stays below theirs, and does nothing.
    """
    original = getattr(place, name)
    setattr(place, name, ours)

    def undo() -> None:
        if getattr(place, name) is ours:
            setattr(place, name, original)

    return undo
