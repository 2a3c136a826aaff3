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

from values import ENDS, FLOATS, INTEGERS, TEXTS, damage_bytes

_RUN = Path(__file__).resolve().parents[2] / "fixtures" / "run"
_BASES = ("nsys_2026.2.sqlite", "nsys_2026.2.sqlite", "nsys_2023.4.sqlite", "nsys_2022.1.sqlite", "nsys_pre2021.sqlite")

# Any of these would run for ever, or write, if a reader followed it.
_ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n"


def mutate_trace(rng: random.Random) -> tuple[bytes, str]:
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
        content = _damage_pages(content, rng) if rng.random() < 0.6 else damage_bytes(content, rng)
    if rng.random() < 0.15:
        packed = gzip.compress(content, 1)
        return (damage_bytes(packed, rng) if rng.random() < 0.4 else packed), ".sqlite.gz"
    return content, ".sqlite"


def _damage_pages(content: bytes, rng: random.Random) -> bytes:
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


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _choose_table(database: sqlite3.Connection, rng: random.Random) -> tuple[str, list[str]]:
    names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
    # Those with events are met more often.
    events = [
        name
        for name in names
        if name.startswith(("CUPTI", "NVTX", "OSRT", "StringIds", "MPI", "COMPOSITE", "SCHED", "GPU"))
    ]
    table = rng.choice(events or names) if rng.random() < 0.8 else rng.choice(names)
    return table, [row[1] for row in database.execute(f"pragma table_info({_quote_name(table)})")]


def _draw_value(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.5:
        return max(-(1 << 63), min((1 << 63) - 1, rng.choice(INTEGERS)))
    if kind < 0.65:
        return rng.choice(FLOATS)
    if kind < 0.8:
        return rng.choice(TEXTS)
    return rng.choice((None, b"", b"\xff\xfe", b"\x00" * 1000, b"1", "12", float("inf")))


def _update(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _choose_table(database, rng)
    where = rng.choice(("true", "rowid % 7 = 0", "rowid = 1", "rowid % 2 = 0", "rowid > 20"))
    database.execute(
        f"update {_quote_name(table)} set {_quote_name(rng.choice(columns))} = ? where {where}", [_draw_value(rng)]
    )


def _time(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _choose_table(database, rng)
    name = rng.choice([each for each in columns if each in ("start", "end", "timestamp", "rawTimestamp")] or columns)
    change = rng.choice(
        ("?", "? + rowid", f"{_quote_name(name)} * 1000", f"-{_quote_name(name)}", f"{_quote_name(name)} + ?", "null")
    )
    value = [_draw_value(rng)] if "?" in change else []
    where = rng.choice(("true", "rowid % 3 = 0", "rowid = 1"))
    database.execute(f"update {_quote_name(table)} set {_quote_name(name)} = {change} where {where}", value)


def _spread_column(database: sqlite3.Connection, rng: random.Random) -> None:
    """One column at both ends of what it can be: differences and sums do not fit then."""
    table, columns = _choose_table(database, rng)
    name, step = _quote_name(rng.choice(columns)), rng.choice((1, 2, 5))
    database.execute(
        f"update {_quote_name(table)} set {name} = case rowid / {step} % 2 when 0 then ? else ? end where rowid % {step} = 0",
        rng.choice(ENDS),
    )


def _swap_times(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _choose_table(database, rng)
    database.execute(
        f'update {_quote_name(table)} set start = "end", "end" = start where rowid % {rng.choice((1, 2, 5))} = 0'
    )


def _double_rows(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _choose_table(database, rng)
    listed = ", ".join(_quote_name(name) for name in columns)
    for _ in range(rng.choice((1, 3))):
        database.execute(
            f"insert into {_quote_name(table)} ({listed}) select {listed} from {_quote_name(table)} limit 5000"
        )


def _delete(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _choose_table(database, rng)
    database.execute(f"delete from {_quote_name(table)} where rowid % {rng.choice((1, 2, 5))} = 0")


def _drop_column(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _choose_table(database, rng)
    database.execute(f"alter table {_quote_name(table)} drop column {_quote_name(rng.choice(columns))}")


def _rename_column(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _choose_table(database, rng)
    new = rng.choice((*columns, "Start", "END", 'odd "name', "rowid", "select", "é"))
    database.execute(
        f"alter table {_quote_name(table)} rename column {_quote_name(rng.choice(columns))} to {_quote_name(new)}"
    )


def _rename_table(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _choose_table(database, rng)
    other, _ = _choose_table(database, rng)
    if rng.random() < 0.5 and other != table:
        database.execute(f"drop table {_quote_name(other)}")
        database.execute(f"alter table {_quote_name(table)} rename to {_quote_name(other)}")
    else:
        new = rng.choice((table.lower(), "a]b", 'x"; --', f"{table}_"))
        database.execute(f"alter table {_quote_name(table)} rename to {_quote_name(new)}")


def _drop_table(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _choose_table(database, rng)
    database.execute(f"drop table {_quote_name(table)}")


def _replace_by_view(database: sqlite3.Connection, rng: random.Random) -> None:
    """A view in the place of a table: of nothing that ends, or of the table's rows."""
    table, columns = _choose_table(database, rng)
    database.execute(f"alter table {_quote_name(table)} rename to kept")
    listed = ", ".join(f"x as {_quote_name(name)}" for name in columns)
    body = rng.choice(
        (f"select {listed} from ({_ENDLESS})", "select * from kept", "select load_extension('/tmp/x.so') as id")
    )
    database.execute(f"create view {_quote_name(table)} as {body}")


def _without_rowid(database: sqlite3.Connection, rng: random.Random) -> None:
    table, columns = _choose_table(database, rng)
    database.execute(f"alter table {_quote_name(table)} rename to kept")
    listed = ", ".join(_quote_name(name) for name in columns)
    first = _quote_name(columns[0])
    database.execute(f"create table {_quote_name(table)} ({listed}, primary key ({first})) without rowid")
    database.execute(f"insert or ignore into {_quote_name(table)} select * from kept")
    database.execute("drop table kept")


def _add_generated_columns(database: sqlite3.Connection, rng: random.Random) -> None:
    """Columns that are worked out when they are read."""
    table, columns = _choose_table(database, rng)
    name = rng.choice(columns)
    database.execute(f"alter table {_quote_name(table)} rename column {_quote_name(name)} to kept")
    expression = rng.choice(
        ("kept", "kept + 1", "abs(-9223372036854775808)", "zeroblob(1000000)", "printf('%.*c', 1000000, 'x')", "1/0")
    )
    database.execute(
        f"alter table {_quote_name(table)} add column {_quote_name(name)} generated always as ({expression}) virtual"
    )


def _add_objects(database: sqlite3.Connection, rng: random.Random) -> None:
    """Triggers, indexes, virtual tables and check constraints, of which none concerns a reader."""
    table, columns = _choose_table(database, rng)
    column = _quote_name(rng.choice(columns))
    database.execute(
        rng.choice(
            (
                f"create trigger t after insert on {_quote_name(table)} begin delete from {_quote_name(table)}; end",
                f"create index i on {_quote_name(table)} ({column}, abs({column}))",
                f"create index i on {_quote_name(table)} (typeof({column})) where {column} > 5",
                "create virtual table v using fts5(x)",
                "create virtual table v using rtree(id, a, b)",
                f"create view v as {_ENDLESS}",
            )
        )
    )


def _schema_text(database: sqlite3.Connection, rng: random.Random) -> None:
    """What sqlite_master says of a table is another than what its pages hold."""
    table, _ = _choose_table(database, rng)
    text = rng.choice(
        (
            f'create table {_quote_name(table)} (start, "end")',
            f"create virtual table {_quote_name(table)} using fts5(start)",
            f"create virtual table {_quote_name(table)} using no_such_module(x)",
            "not sql at all",
            "create table x (y)",
            f"create table {_quote_name(table)} ({', '.join(f'c{n}' for n in range(1500))})",
            f"create view {_quote_name(table)} as {_ENDLESS}",
        )
    )
    database.execute("update sqlite_master set sql = ? where name = ?", [text, table])


def _root_page(database: sqlite3.Connection, rng: random.Random) -> None:
    table, _ = _choose_table(database, rng)
    page = rng.choice((0, 1, 2, 3, 5, 100_000, -1, 1 << 40))
    database.execute("update sqlite_master set rootpage = ? where name = ?", [page, table])


def _change_settings(database: sqlite3.Connection, rng: random.Random) -> None:
    if rng.random() < 0.3:
        database.execute("pragma journal_mode = wal")
    else:
        database.execute(f"pragma page_size = {rng.choice((512, 8192, 65536))}")
        database.execute(f"pragma auto_vacuum = {rng.choice((0, 1, 2))}")
        database.execute("vacuum")


def _break_encoding(database: sqlite3.Connection, rng: random.Random) -> None:
    """Text that is not of the encoding of the file."""
    table, columns = _choose_table(database, rng)
    broken = rng.choice((b"\xff\xfe\x00", b"caf\xe9", b"\xed\xa0\x80", b"a\x00b", b"\xf0\x9f"))
    database.execute(
        f"update {_quote_name(table)} set {_quote_name(rng.choice(columns))} = cast(? as text) where rowid % 3 = 0",
        [broken],
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
        _spread_column,
        _spread_column,
        _swap_times,
        _double_rows,
        _delete,
        _drop_column,
        _rename_column,
    ),
    *(
        _rename_table,
        _drop_table,
        _replace_by_view,
        _without_rowid,
        _add_generated_columns,
        _add_objects,
        _schema_text,
        _root_page,
        _change_settings,
        _break_encoding,
    ),
)
