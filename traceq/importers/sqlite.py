"""SQLite files of profilers: how to open one so that nothing can be written, and names of theirs for SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path


def uri(path: Path) -> str:
    """The SQLite URI that opens `path` without a chance to write; odd characters in the name are escaped."""
    return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"


def quoted(name: str) -> str:
    """A table's or column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'
