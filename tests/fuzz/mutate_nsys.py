"""nsys exports that are damaged or hostile: values, columns, tables, pages, and objects of SQLite that hold no rows."""

from __future__ import annotations

import gzip
import random
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from values import ENDS, FLOATS, INTEGERS, TEXTS, damaged

_RUN = Path(__file__).resolve().parents[2] / "fixtures" / "run"
_BASES = ("nsys_2026.2.sqlite", "nsys_2026.2.sqlite", "nsys_2023.4.sqlite", "nsys_2022.1.sqlite", "nsys_pre2021.sqlite")

# Any of these would run for ever, or write, if a reader followed it.
_ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n"


def trace(rng: random.Random) -> tuple[bytes, str]:
    """The content of a file and the end of its name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.sqlite"
        shutil.copyfile(_RUN / rng.choice(_BASES), path)
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("pragma synchronous = off")
            database.execute("pragma writable_schema = on")
            for _ in range(rng.choice((0, 1, 1, 2, 4))):
                # SQLite itself refuses some changes after others.
                with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                    rng.choice(_CHANGES)(database, rng)
        content = path.read_bytes()
    if rng.random() < 0.3:
        content = _pages(content, rng) if rng.random() < 0.6 else damaged(content, rng)
    if rng.random() < 0.15:
        packed = gzip.compress(content, 1)
        return (damaged(packed, rng) if rng.random() < 0.4 else packed), ".sqlite.gz"
    return content, ".sqlite"


def _pages(content: bytes, rng: random.Random) -> bytes:
    """Whole pages zeroed, swapped, doubled or random, or odd fields in the header."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 2, 10))):
        at, other = (rng.randrange(max(1, len(data) // 512)) * 512 for _ in range(2))
        what = rng.randrange(5)
        if what == 0:
            data[at : at + 512] = bytes(512)
        elif what == 1:
            data[at : at + 512], data[other : other + 512] = data[other : other + 512], data[at : at + 512]
        elif what == 2:
            data[at : at + 512] = bytes(rng.randrange(256) for _ in range(512))
        elif what == 3:
            data[rng.randrange(16, 100)] = rng.randrange(256)
        else:
            data[at : at + 8] = bytes(rng.randrange(256) for _ in range(8))
    return bytes(data)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _table(database: sqlite3.Connection, rng: random.Random) -> tuple[str, list[str]]:
    names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
    # Those with events are met more often.
    events = [
        name
        for name in names
        if name.startswith(("CUPTI", "NVTX", "OSRT", "StringIds", "MPI", "COMPOSITE", "SCHED", "GPU"))
    ]
    table = rng.choice(events or names) if rng.random() < 0.8 else rng.choice(names)
    return table, [row[1] for row in database.execute(f"pragma table_info({_quoted(table)})")]


def _value(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.5:
        return max(-(1 << 63), min((1 << 63) - 1, rng.choice(INTEGERS)))
    if kind < 0.65:
        return rng.choice(FLOATS)
    if kind < 0.8:
        return rng.choice(TEXTS)
    return rng.choice((None, b"", b"\xff\xfe", b"\x00" * 1000, b"1", "12", float("inf")))


def _update(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _table(database, rng)
    where = rng.choice(("true", "rowid % 7 = 0", "rowid = 1", "rowid % 2 = 0", "rowid > 20"))
    database.execute(f"update {_quoted(table)} set {_quoted(rng.choice(columns))} = ? where {where}", [_value(rng)])


def _time(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _table(database, rng)
    name = rng.choice([each for each in columns if each in ("start", "end", "timestamp", "rawTimestamp")] or columns)
    change = rng.choice(
        ("?", "? + rowid", f"{_quoted(name)} * 1000", f"-{_quoted(name)}", f"{_quoted(name)} + ?", "null")
    )
    value = [_value(rng)] if "?" in change else []
    where = rng.choice(("true", "rowid % 3 = 0", "rowid = 1"))
    database.execute(f"update {_quoted(table)} set {_quoted(name)} = {change} where {where}", value)


def _apart(database: sqlite3.Connection, rng: random.Random) -> None:
    """One column at both ends of what it can be: differences and sums do not fit then."""
    table, columns = _table(database, rng)
    name, step = _quoted(rng.choice(columns)), rng.choice((1, 2, 5))
    database.execute(
        f"update {_quoted(table)} set {name} = case rowid / {step} % 2 when 0 then ? else ? end where rowid % {step} = 0",
        rng.choice(ENDS),
    )


def _swap_times(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _table(database, rng)
    database.execute(
        f'update {_quoted(table)} set start = "end", "end" = start where rowid % {rng.choice((1, 2, 5))} = 0'
    )


def _double(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _table(database, rng)
    listed = ", ".join(_quoted(name) for name in columns)
    for _ in range(rng.choice((1, 3))):
        database.execute(f"insert into {_quoted(table)} ({listed}) select {listed} from {_quoted(table)} limit 5000")


def _delete(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _table(database, rng)
    database.execute(f"delete from {_quoted(table)} where rowid % {rng.choice((1, 2, 5))} = 0")


def _drop_column(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _table(database, rng)
    database.execute(f"alter table {_quoted(table)} drop column {_quoted(rng.choice(columns))}")


def _rename_column(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _table(database, rng)
    new = rng.choice((*columns, "Start", "END", 'odd "name', "rowid", "select", "é"))
    database.execute(f"alter table {_quoted(table)} rename column {_quoted(rng.choice(columns))} to {_quoted(new)}")


def _rename_table(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _table(database, rng)
    other, _ = _table(database, rng)
    if rng.random() < 0.5 and other != table:
        database.execute(f"drop table {_quoted(other)}")
        database.execute(f"alter table {_quoted(table)} rename to {_quoted(other)}")
    else:
        new = rng.choice((table.lower(), "a]b", 'x"; --', f"{table}_"))
        database.execute(f"alter table {_quoted(table)} rename to {_quoted(new)}")


def _drop_table(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _table(database, rng)
    database.execute(f"drop table {_quoted(table)}")


def _view(database: sqlite3.Connection, rng: random.Random) -> None:
    """A view in the place of a table: of nothing that ends, or of the table's rows."""
    table, columns = _table(database, rng)
    database.execute(f"alter table {_quoted(table)} rename to kept")
    listed = ", ".join(f"x as {_quoted(name)}" for name in columns)
    body = rng.choice(
        (f"select {listed} from ({_ENDLESS})", "select * from kept", "select load_extension('/tmp/x.so') as id")
    )
    database.execute(f"create view {_quoted(table)} as {body}")


def _without_rowid(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _table(database, rng)
    database.execute(f"alter table {_quoted(table)} rename to kept")
    listed = ", ".join(_quoted(name) for name in columns)
    first = _quoted(columns[0])
    database.execute(f"create table {_quoted(table)} ({listed}, primary key ({first})) without rowid")
    database.execute(f"insert or ignore into {_quoted(table)} select * from kept")
    database.execute("drop table kept")


def _generated(database: sqlite3.Connection, rng: random.Random) -> None:
    """Columns that are worked out when they are read."""
    table, columns = _table(database, rng)
    name = rng.choice(columns)
    database.execute(f"alter table {_quoted(table)} rename column {_quoted(name)} to kept")
    expression = rng.choice(
        ("kept", "kept + 1", "abs(-9223372036854775808)", "zeroblob(1000000)", "printf('%.*c', 1000000, 'x')", "1/0")
    )
    database.execute(
        f"alter table {_quoted(table)} add column {_quoted(name)} generated always as ({expression}) virtual"
    )


def _objects(database: sqlite3.Connection, rng: random.Random) -> None:
    """Triggers, indexes, virtual tables and check constraints, of which none concerns a reader."""
    table, columns = _table(database, rng)
    column = _quoted(rng.choice(columns))
    database.execute(
        rng.choice(
            (
                f"create trigger t after insert on {_quoted(table)} begin delete from {_quoted(table)}; end",
                f"create index i on {_quoted(table)} ({column}, abs({column}))",
                f"create index i on {_quoted(table)} (typeof({column})) where {column} > 5",
                "create virtual table v using fts5(x)",
                "create virtual table v using rtree(id, a, b)",
                f"create view v as {_ENDLESS}",
            )
        )
    )


def _schema_text(database: sqlite3.Connection, rng: random.Random) -> None:
    """What sqlite_master says of a table is another than what its pages hold."""
    table, _ = _table(database, rng)
    text = rng.choice(
        (
            f'create table {_quoted(table)} (start, "end")',
            f"create virtual table {_quoted(table)} using fts5(start)",
            f"create virtual table {_quoted(table)} using no_such_module(x)",
            "not sql at all",
            "create table x (y)",
            f"create table {_quoted(table)} ({', '.join(f'c{n}' for n in range(1500))})",
            f"create view {_quoted(table)} as {_ENDLESS}",
        )
    )
    database.execute("update sqlite_master set sql = ? where name = ?", [text, table])


def _root_page(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _table(database, rng)
    page = rng.choice((0, 1, 2, 3, 5, 100_000, -1, 1 << 40))
    database.execute("update sqlite_master set rootpage = ? where name = ?", [page, table])


def _settings(database: sqlite3.Connection, rng: random.Random) -> None:
    if rng.random() < 0.3:
        database.execute("pragma journal_mode = wal")
    else:
        database.execute(f"pragma page_size = {rng.choice((512, 8192, 65536))}")
        database.execute(f"pragma auto_vacuum = {rng.choice((0, 1, 2))}")
        database.execute("vacuum")


def _encoding(database: sqlite3.Connection, rng: random.Random) -> None:
    """Text that is not of the encoding of the file."""
    table, columns = _table(database, rng)
    broken = rng.choice((b"\xff\xfe\x00", b"caf\xe9", b"\xed\xa0\x80", b"a\x00b", b"\xf0\x9f"))
    database.execute(
        f"update {_quoted(table)} set {_quoted(rng.choice(columns))} = cast(? as text) where rowid % 3 = 0", [broken]
    )


_CHANGES = (
    *(
        _update,
        _update,
        _update,
        _update,
        _time,
        _time,
        _time,
        _apart,
        _apart,
        _swap_times,
        _double,
        _delete,
        _drop_column,
        _rename_column,
    ),
    *(
        _rename_table,
        _drop_table,
        _view,
        _without_rowid,
        _generated,
        _objects,
        _schema_text,
        _root_page,
        _settings,
        _encoding,
    ),
)
