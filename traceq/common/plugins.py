"""What other installed packages add to traceq, by the entry points they declare."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traceq.errors import UnusablePlugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_GROUP = re.compile(rb"^\[(traceq\.\w+)\]", re.MULTILINE)


def plugins(group: str) -> list[Any]:
    """The objects of all entry points of the group, by name. Raises UnusablePlugin for one that cannot be loaded."""
    found = []
    for entry in sorted(declared(group), key=lambda each: each.name):
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


def declared(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of the group, one of traceq's."""
    if not _may_hide_packages() and group.encode() not in _groups(tuple(sys.path)):
        return ()
    # Takes 15 ms to import, more than to look whether there is anything to find.
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def _may_hide_packages() -> bool:
    """Whether packages may be elsewhere than in folders: in a zip file, or where another finder looks."""
    finders = any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder)
    return finders or any(Path(place).is_file() for place in sys.path)


@cache
def _groups(places: tuple[str, ...]) -> frozenset[bytes]:
    """The groups of traceq's that the packages in these folders declare."""
    found: set[bytes] = set()
    for place in places:
        for file in Path(place).glob("*.*-info/entry_points.txt"):
            found.update(_GROUP.findall(file.read_bytes()))
    return frozenset(found)
