"""Load the additions of other installed packages, by the entry points that they declare."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from traceq.errors import UnusablePlugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def load_plugins(group: str) -> list[Any]:
    """Load the objects of all entry points in the group, sorted by name. Raises UnusablePlugin if one cannot be loaded."""
    found = []
    for entry in sorted(list_entry_points(group), key=lambda each: each.name):
        try:
            found.append(entry.load())
        except Exception as error:
            # A package of somebody else breaks as it likes.
            reason = " ".join(str(error).split())
            raise UnusablePlugin(
                f"entry point {entry.name} ({entry.value}) of {group}: {type(error).__name__}: {reason}; reinstall or"
                " remove its package"
            ) from error
    return found


def list_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of the group in all importable packages, not yet loaded."""
    return tuple(_find_entry_points(tuple(sys.path)).select(group=group))


@cache
def _find_entry_points(_places: tuple[str, ...]) -> Any:
    """Return all entry points of importable packages, cached by sys.path because the search takes 3 ms."""
    from importlib.metadata import entry_points

    return entry_points()
