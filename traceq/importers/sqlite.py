"""SQLite files of profilers: how to open one so that nothing of it is executed or written, and names of theirs for SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

# Of sqlite_master, what is a table proper, whatever `type` says: views and virtual tables run what the file says.
IS_TABLE = "type = 'table' and sql like 'create table%'"

# No row takes fewer bytes of a file; pages that are damaged or crafted can seem to hold rows without end.
LEAST_ROW = 4

# Steps of SQLite's machine that a query over all of a file takes at most: some, and so many for each byte of the file.
_STEPS, _STEPS_PER_BYTE, _STEPS_AT_ONCE = 20_000_000, 100, 1_000_000


def uri(path: Path) -> str:
    """The SQLite URI that opens `path` without a chance to write; odd characters in the name are escaped."""
    return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"


def quoted(name: str) -> str:
    """A table's or column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def limit_steps(connection: sqlite3.Connection, path: Path) -> None:
    """Let no query of the connection run on without end: it is interrupted where it takes more steps than the file can need."""
    left = (_STEPS + path.stat().st_size * _STEPS_PER_BYTE) // _STEPS_AT_ONCE

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(is_over, _STEPS_AT_ONCE)
