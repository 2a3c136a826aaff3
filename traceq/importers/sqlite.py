"""SQLite files of profilers: how to open one so that nothing of it is executed or written, and names of theirs for SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from traceq.errors import UnusableTrace

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

# Of sqlite_master, what is a table proper, whatever `type` says: views and virtual tables run what the file says.
IS_TABLE = "type = 'table' and sql like 'create table%'"

# What can be asked for rows like a table, and is not, because it runs what the file says.
IS_VIEW = f"type in ('table', 'view') and not ({IS_TABLE})"

# A journal begins so until what it is for is done.
_HOT_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

# No row takes fewer bytes of a file; pages that are damaged or crafted can seem to hold rows without end.
LEAST_ROW = 4

# Steps of SQLite's machine that a query over all of a file takes at most: some, and so many for each byte of the file.
_STEPS, _STEPS_PER_BYTE, _STEPS_AT_ONCE = 20_000_000, 100, 1_000_000


def read_only_uri(path: Path) -> str:
    """Return the SQLite URI (file:...) that opens `path` read-only and without locks; odd characters are escaped."""
    return f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"


def refuse_half_written(path: Path) -> None:
    """Raise UnusableTrace where a rollback journal beside the SQLite file shows that a write to it was not finished."""
    journal = path.with_name(f"{path.name}-journal")
    if not journal.is_file():
        return
    with journal.open("rb") as file:
        if file.read(len(_HOT_JOURNAL)) == _HOT_JOURNAL:
            raise UnusableTrace(
                f"{path}: {journal.name} beside it says that it was not written to its end; export it again, or let SQLite take"
                f" back what is half-written: sqlite3 {path.name} .tables"
            )


def quote_name(name: str) -> str:
    """Return a table's or column's name as SQL writes it, in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def limit_steps(connection: sqlite3.Connection, path: Path) -> None:
    """Limit the steps of SQLite's machine that all queries of the connection take together, by the size of the file.

    Beyond the limit queries fail with sqlite3.OperationalError: a crafted file could keep them busy without end.
    """
    left = (_STEPS + path.stat().st_size * _STEPS_PER_BYTE) // _STEPS_AT_ONCE

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(is_over, _STEPS_AT_ONCE)
