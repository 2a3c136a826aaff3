"""Load the additions of other installed packages, by the entry points that they declare."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.machinery import PathFinder
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
    """Return the entry points of the group, one of traceq's, in all importable packages, not yet loaded."""
    places = tuple(sys.path)
    return tuple(_find_entry_points(places).select(group=group)) if _may_be_declared(places) else ()


@cache
def _may_be_declared(places: tuple[str, ...]) -> bool:
    """Return whether a package in these folders may declare entry points of a group of traceq.

    importlib.metadata knows for sure, and takes five times as long.
    """
    others = (finder for finder in sys.meta_path if finder is not PathFinder)
    if any(hasattr(finder, "find_distributions") for finder in others):
        return True
    return any(_declares(place or os.curdir) for place in places)


def _declares(place: str) -> bool:
    """Return whether the text of an entry point of traceq is in the folder; True for what is not a plain folder, as a zip."""
    try:
        names = os.listdir(place)  # noqa: PTH208 - texts, as Path takes three times as long
    except NotADirectoryError:
        return True
    except OSError:
        return False
    if place.endswith(".egg"):
        return True
    for name in names:
        if name.lower().endswith((".dist-info", ".egg-info")):
            try:
                with open(f"{place}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123 - the same
                    if b"[traceq." in file.read():
                        return True
            except OSError:
                continue
    return False


@cache
def _find_entry_points(_places: tuple[str, ...]) -> Any:
    """Return all entry points of importable packages, cached by sys.path because the search takes 3 ms."""
    from importlib.metadata import entry_points

    return entry_points()
