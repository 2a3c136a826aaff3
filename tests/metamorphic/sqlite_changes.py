"""Changes of any profiler's SQLite file that mean the same; each changes a copy of the file in place."""

from __future__ import annotations

import gzip
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Change = Callable[[sqlite3.Connection], None]


def write_changed(source: Path, folder: Path, *changes: Change) -> Path:
    """Return a copy of the file with the changes made to it."""
    path = folder / f"changed{source.suffix}"
    shutil.copy(source, path)
    path.chmod(0o600)
    with closing(sqlite3.connect(path)) as database:
        # Views of the file's own may name a table while it is written anew.
        database.execute("pragma legacy_alter_table = on")
        for change in changes:
            change(database)
        database.commit()
    return path


def list_columns(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of each table."""
    query = "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by 1"
    names = [name for (name,) in database.execute(query)]
    return {name: [row[1] for row in database.execute(f'pragma table_info("{name}")')] for name in names}


def reverse_rows(database: sqlite3.Connection) -> None:
    """Write the rows of every table in the opposite order."""
    for table in list_columns(database):
        rewrite_table(database, table, order="order by rowid desc")


def shuffle_rows(database: sqlite3.Connection) -> None:
    """Write the rows of every table in a random order."""
    chance = random.Random(48)  # noqa: S311
    database.create_function("draw", 0, chance.random)
    for table in list_columns(database):
        rewrite_table(database, table, order="order by draw()")


def reverse_columns(database: sqlite3.Connection) -> None:
    """Write the columns of every table in the opposite order."""
    for table, columns in list_columns(database).items():
        rewrite_table(database, table, ", ".join(f'"{column}"' for column in reversed(columns)))


def reverse_tables(database: sqlite3.Connection) -> None:
    """Write the tables in the opposite order of their names."""
    for table in reversed(list_columns(database)):
        rewrite_table(database, table)


def rewrite_table(database: sqlite3.Connection, table: str, columns: str = "*", order: str = "") -> None:
    """Write a table anew, with these columns in this order, without keys, indexes and declared NOT NULLs."""
    database.execute(f'create table "_{table}" as select {columns} from "{table}" {order}')
    database.execute(f'drop table "{table}"')
    database.execute(f'alter table "_{table}" rename to "{table}"')


def add_columns(database: sqlite3.Connection) -> None:
    """Add a column to every table, as a version of tomorrow may have."""
    for table in list_columns(database):
        database.execute(f'alter table "{table}" add column "tomorrow" text default \'?\'')


def add_tables(database: sqlite3.Connection) -> None:
    """Add an empty table, a view and an index, as scripts of users leave them."""
    table, columns = next(iter(list_columns(database).items()))
    database.execute("create table my_notes (text text)")
    database.execute(f'create view my_view as select * from "{table}"')
    database.execute(f'create index my_index on "{table}" ("{columns[0]}")')


def drop_indexes(database: sqlite3.Connection) -> None:
    """Drop the indexes and views, as tools that copy tables do."""
    kept = database.execute("select type, name from sqlite_master where type in ('index', 'view') and sql is not null")
    for kind, name in kept.fetchall():
        database.execute(f'drop {kind} "{name}"')


def drop_empty_columns(database: sqlite3.Connection) -> None:
    """Drop the columns that are NULL in every row, and the tables without rows, as versions before them have none."""
    for table, columns in list_columns(database).items():
        counts = ", ".join(["count(*)", *(f'count("{name}")' for name in columns)])
        rows, *filled = database.execute(f'select {counts} from "{table}"').fetchone()
        if not rows:
            database.execute(f'drop table "{table}"')
        elif not all(filled):
            kept = [f'"{name}"' for name, count in zip(columns, filled, strict=True) if count]
            rewrite_table(database, table, ", ".join(kept))


def use_small_pages(database: sqlite3.Connection) -> None:
    """Store the database in pages of another size."""
    database.commit()
    database.execute("pragma page_size = 1024")
    database.execute("vacuum")


def update_columns(database: sqlite3.Connection, names: tuple[str, ...], expression: str) -> None:
    """Set the columns of these names, in every table, to an SQL expression of their value, which it calls {}."""
    for table, columns in list_columns(database).items():
        for column in columns:
            if column in names:
                database.execute(
                    f'update "{table}" set "{column}" = {expression.format(f"{chr(34)}{column}{chr(34)}")}'
                )


MEANS_THE_SAME: dict[str, Change] = {
    "rows backwards": reverse_rows,
    "rows shuffled": shuffle_rows,
    "columns backwards": reverse_columns,
    "tables backwards": reverse_tables,
    "columns of tomorrow": add_columns,
    "tables of a user": add_tables,
    "no indexes": drop_indexes,
    "no empty columns": drop_empty_columns,
    "small pages": use_small_pages,
}
"""Changes after which a report says the same."""


def write_gz(path: Path) -> Path:
    """Write the file as gzip."""
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    return packed


WRITERS: dict[str, Callable[[Path], Path]] = {"gzip": write_gz}
"""Ways to write a file, after which a report says the same."""
