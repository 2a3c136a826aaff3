"""nsys exports changed in a way that means the same, or whose effect on every report is known; each changes a copy in place."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Change = Callable[[sqlite3.Connection], None]
DAY_NS = 86_400 * 10**9

_STRING_IDS = ("textId", "nameId", "demangledName", "shortName", "mangledName", "jsonTextId", "symbol", "module")
_CORRELATIONS = ("correlationId",)
_TIMES = ("start", "end", "timestamp", "rawTimestamp")


def write_changed(source: Path, folder: Path, *changes: Change) -> Path:
    """Return a copy of the export with the changes made to it."""
    path = folder / "changed.sqlite"
    shutil.copy(source, path)
    with closing(sqlite3.connect(path)) as database:
        for change in changes:
            change(database)
        database.commit()
    return path


def list_columns(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each table."""
    names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table' order by 1")]
    return {name: [row[1] for row in database.execute(f'pragma table_info("{name}")')] for name in names}


def reverse_rows(database: sqlite3.Connection) -> None:
    """Write the rows of every table in the opposite order."""
    for table in list_columns(database):
        _rewrite(database, table, "*", order="order by rowid desc")


def reverse_columns(database: sqlite3.Connection) -> None:
    """Write the columns of every table in the opposite order."""
    for table, columns in list_columns(database).items():
        _rewrite(database, table, ", ".join(f'"{column}"' for column in reversed(columns)))


def _rewrite(database: sqlite3.Connection, table: str, columns: str, order: str = "") -> None:
    database.execute(f'create table "_{table}" as select {columns} from "{table}" {order}')
    database.execute(f'drop table "{table}"')
    database.execute(f'alter table "_{table}" rename to "{table}"')


def add_columns(database: sqlite3.Connection) -> None:
    """Add a column to every table, as a version of tomorrow may have."""
    for table in list_columns(database):
        database.execute(f'alter table "{table}" add column "tomorrow" text default \'?\'')


def add_tables(database: sqlite3.Connection) -> None:
    """Add an empty table, a view and an index, as scripts of users leave them."""
    database.execute("create table my_notes (text text)")
    database.execute("create view my_kernels as select * from StringIds")
    database.execute("create index my_index on StringIds (value)")


def renumber_strings(database: sqlite3.Connection) -> None:
    """Give the texts of StringIds other ids, in another order."""
    ((most,),) = database.execute("select max(id) from StringIds").fetchall()
    _update(database, _STRING_IDS, f"2 * {most} + 7 - {{}}")
    # far off first, as an id may be taken
    database.execute(f"update StringIds set id = -1 - (2 * {most} + 7 - id)")
    database.execute("update StringIds set id = -1 - id")


def renumber_correlations(database: sqlite3.Connection) -> None:
    """Give calls and their work other correlation ids."""
    _update(database, _CORRELATIONS, "{0} + 1000000 * ({0} > 0)")


def move_times(by: int) -> Change:
    """Return a change that moves all events of the GPU and the host by `by` ns."""

    def moved(database: sqlite3.Connection) -> None:
        _update(database, _TIMES, f"{{}} + {by}")

    return moved


def _update(database: sqlite3.Connection, names: tuple[str, ...], expression: str) -> None:
    """Set the columns of these names, in every table, to an SQL expression of their value."""
    for table, columns in list_columns(database).items():
        for column in columns:
            if column in names:
                database.execute(
                    f'update "{table}" set "{column}" = {expression.format(f"{chr(34)}{column}{chr(34)}")}'
                )


def inline_texts(database: sqlite3.Connection) -> None:
    """Write the texts of NVTX ranges into their rows, as versions before StringIds held them."""
    if "NVTX_EVENTS" not in list_columns(database):
        return
    database.execute(
        "update NVTX_EVENTS set text = (select value from StringIds where id = textId), textId = null where textId is not null"
    )


def use_small_pages(database: sqlite3.Connection) -> None:
    """Store the database in pages of another size."""
    database.commit()
    database.execute("pragma page_size = 1024")
    database.execute("vacuum")


MEANS_THE_SAME: dict[str, Change] = {
    "rows backwards": reverse_rows,
    "columns backwards": reverse_columns,
    "columns of tomorrow": add_columns,
    "tables of a user": add_tables,
    "ids of texts": renumber_strings,
    "correlation ids": renumber_correlations,
    "texts in rows": inline_texts,
    "small pages": use_small_pages,
}
"""Changes after which a report says the same."""

MOVED: dict[str, tuple[Change, int]] = {
    "a day later": (move_times(DAY_NS), DAY_NS),
    "before zero": (move_times(-DAY_NS), -DAY_NS),
}
"""Changes that move all times, and by how many ns."""
