"""Load the additions of other installed packages, by the entry points that they declare."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from traceq.errors import UnusablePlugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def load_plugins(group: str) -> list[Any]:
    """Load the objects of all entry points of the group, by name. Raises UnusablePlugin for one that cannot be loaded."""
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
    """Return the entry points of the group."""
    return tuple(_find_entry_points(tuple(sys.path)).select(group=group))


@cache
def _find_entry_points(_places: tuple[str, ...]) -> Any:
    """Return every entry point of the packages that can be imported; looking for them takes 3 ms, for each of our groups."""
    from importlib.metadata import entry_points

    return entry_points()
