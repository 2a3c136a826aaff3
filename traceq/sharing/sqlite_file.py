"""SQLite files made of tables of another: rows that a condition chooses, in their order; nothing of the file is executed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from traceq.errors import UnusableTrace
from traceq.importers.nsys.files import READ_WHAT_IS_THERE
from traceq.importers.nsys.versions import choose_table
from traceq.importers.sqlite import quote_name, read_only_uri
from traceq.sharing.names import read_allowed

# Columns that hold numbers, of any table that is known.
NUMBERS = frozenset(files("traceq").joinpath("sharing/numbers.txt").read_text("utf-8").split())

_ALLOWED = read_allowed("nsys")
_TABLES = frozenset(("StringIds", *_ALLOWED["tables"]))
_SPELLED = {
    name.lower(): name
    for names in (NUMBERS, *_ALLOWED["tables"].values(), *_ALLOWED["texts"].values())
    for name in names
}
_TYPE = re.compile(r"[A-Za-z][A-Za-z ]{0,30}")

Columns = dict[str, tuple[str, bool, bool]]
"""For each column its type, whether it may not be NULL, and whether it is the number of the row."""


class SourceTable(NamedTuple):
    """A table of the source: its name there, and its columns."""

    own: str
    columns: Columns


@contextmanager
def open_copy(source: Path, target: Path, shown: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the new file `target`, in a transaction, with `source` attached as src, read-only.

    Raises UnusableTrace, which names `shown`, where the source cannot be read.
    """
    with closing(sqlite3.connect(f"file:{target}?mode=rwc", uri=True, isolation_level=None)) as connection:
        try:
            connection.text_factory = bytes
            # Functions in a schema that nobody of us wrote are not run, and views are not looked into.
            connection.execute("pragma trusted_schema = off")
            connection.execute("pragma journal_mode = off")
            connection.execute("pragma synchronous = off")
            connection.execute("attach ? as src", [read_only_uri(source)])
            connection.execute(READ_WHAT_IS_THERE.replace("pragma ", "pragma src."))
            connection.execute("begin")
            yield connection
            connection.execute("commit")
        except sqlite3.Error as error:
            raise UnusableTrace(
                f"{shown}: the SQLite file is damaged ({error}); export it again with nsys export"
            ) from error


def list_tables(connection: sqlite3.Connection, more: Iterable[str] = ()) -> dict[str, SourceTable]:
    """Return the tables of the source by the name that the importer reads them by; views and virtual tables are left out.

    Of known tables (of allowed.toml, and `more`) and columns a name in another case, and one with a version behind it,
    becomes the known one; others stand under their own.
    """
    found: dict[str, Columns] = {}
    query = (
        'select m.name, c.name, c.type, c."notnull", c.pk, sum(c.pk > 0) over (partition by m.name)'
        " from src.sqlite_master as m, pragma_table_xinfo(m.name, 'src') as c"
        " where m.type = 'table' and m.name not like 'sqlite\\_%' escape '\\'"
        " and m.sql like 'create table%' and c.hidden = 0 order by m.rowid, c.cid"
    )
    for table, column, kind, not_null, key, keys in connection.execute(query):
        type_ = kind.decode("utf-8", "replace")
        is_row = bool(key) and keys == 1 and type_.upper() == "INTEGER"
        columns = found.setdefault(table.decode("utf-8", "replace"), {})
        name = column.decode("utf-8", "replace")
        known_type = type_ if _TYPE.fullmatch(type_) else ""
        columns[_SPELLED.get(name.lower(), name)] = known_type, bool(not_null), is_row

    def has_rows(own: str) -> bool:
        return connection.execute(f"select 1 from src.{quote_name(own)} limit 1").fetchone() is not None

    read_as = {choose_table(table, found, has_rows)[0]: table for table in {*_TABLES, *more}}
    # What is empty, and has its rows in a version of it, is left out.
    return {
        read_as.get(own, own): SourceTable(own, columns)
        for own, columns in found.items()
        if own in read_as or own not in read_as.values()
    }


def create_table(connection: sqlite3.Connection, table: str, columns: Columns) -> None:
    """Create an empty table with these columns in the new file."""
    described = (
        f"{quote_name(name)} {type_}{' not null' if not_null else ''}{' primary key' if is_row else ''}"
        for name, (type_, not_null, is_row) in columns.items()
    )
    connection.execute(f"create table main.{quote_name(table)} ({', '.join(described)})")


def copy_table(
    connection: sqlite3.Connection,
    table: str,
    columns: Columns,
    where: str = "true",
    values: Mapping[str, object] | None = None,
    expressions: Mapping[str, str] | None = None,
    source: str | None = None,
) -> int:
    """Create a table in the new file and copy the rows for which the SQL condition `where` holds, in order; return their number.

    They are those of `source`, or of a table of the same name. The row is called t in `where`, and `values` are its
    parameters. `expressions` are SQL for the values of columns, by column name.
    """
    create_table(connection, table, columns)
    names = ", ".join(map(quote_name, columns))
    picked = ", ".join((expressions or {}).get(name, f"t.{quote_name(name)}") for name in columns)
    rows = f"select {picked} from src.{quote_name(source or table)} as t where {where} order by t.rowid"
    query = f"insert into main.{quote_name(table)} ({names}) {rows}"
    return connection.execute(query, values or {}).rowcount
