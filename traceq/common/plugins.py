"""What other installed packages add to traceq, by the entry points they declare."""

from __future__ import annotations

from typing import Any

from traceq.errors import UnusablePlugin


def plugins(group: str) -> list[Any]:
    """The objects of all entry points of the group, by name. Raises UnusablePlugin for one that cannot be loaded."""
    from importlib.metadata import entry_points

    found = []
    for entry in sorted(entry_points(group=group), key=lambda each: each.name):
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
