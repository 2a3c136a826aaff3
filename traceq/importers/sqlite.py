"""SQLite files of profilers: how to open one so that nothing of it is executed or written, and names of theirs for SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from traceq.common.scratch import temporary_folder
from traceq.errors import UnusableTrace
from traceq.importers.packed import is_packed, unpack

SQLITE = b"SQLite format 3\x00"

# Rows that are turned into one batch.
BATCH_ROWS = 32_768

# What reading a damaged file raises; SQLite's own words for it may be no UTF-8.
DAMAGED_DATABASE: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

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
                f"{path}: {journal.name} next to it shows that a write was not finished; export it again, or let SQLite undo"
                f" that write: sqlite3 {path.name} .tables"
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


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect to the file, or to what is in the gzip'd file, so that it can only be read."""
    with temporary_folder() as folder:
        plain = folder / "trace.sqlite"
        if not is_packed(path):
            refuse_half_written(path)
            plain = path
        elif (error := unpack(path, plain)) is not None:
            raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again") from error
        with closing(open_read_only(plain)) as connection:
            yield connection


def open_read_only(path: Path) -> sqlite3.Connection:
    """Connect to the SQLite file so that it can only be read, and runs nothing of its own."""
    connection = sqlite3.connect(read_only_uri(path), uri=True)
    limit_steps(connection, path)
    # Names come from anywhere; a byte that is no UTF-8 must not stop the import.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    # What the schema of a stranger's file says is not run.
    connection.execute("pragma trusted_schema = off")
    return connection


def table_names(connection: sqlite3.Connection) -> Iterator[str]:
    """Tables proper: views and virtual tables run what the file says."""
    for (name,) in connection.execute(f"select name from sqlite_master where {IS_TABLE}"):  # noqa: S608
        yield str(name)


def read_columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the columns of each table, without generated ones, which are expressions of the file."""
    return {
        name: {
            str(column)
            for (column,) in connection.execute("select name from pragma_table_xinfo(?) where hidden = 0", [name])
        }
        for name in table_names(connection)
    }


def fetch_batches(connection: sqlite3.Connection, query: str) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query, some thousand at a time."""
    cursor = connection.execute(query)
    while rows := cursor.fetchmany(BATCH_ROWS):
        yield rows
