"""Grow an nsys SQLite export by repetition, inside SQLite.

Every copy of the rows comes after the one before it and has correlation ids of its own; names, processes, devices and
everything else that is there once stays as it is.
"""

from __future__ import annotations

import argparse
import gzip
import math
import shutil
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from measure import tell

_TIMES = ("start", "end", "timestamp")
# Also shifted, but of another clock, so it does not tell how long the session was.
_RAW_TIME = "rawTimestamp"
# Times of other clocks or of the whole session, and what is said or created once.
_ONCE = ("TARGET_INFO_", "META_DATA_", "ENUM_", "ANALYSIS_", "CUDA_GRAPH_", "DIAGNOSTIC_EVENT", "MPI_COMMUNICATORS")
# What links rows to each other; 0 and -1 stand for "none".
_IDS = ("correlationId", "eventSyncId", "rangeId")
# Names of domains, categories and threads share a table with the ranges.
_NVTX_EVENTS = "eventType in (34, 59, 60, 65, 70, 71)"
_NS_BETWEEN_COPIES = 1000


@dataclass(frozen=True)
class Table:
    """A table of events: its columns, the one that numbers its rows (or None), and the rows to repeat (SQL)."""

    name: str
    columns: tuple[str, ...]
    key: str | None
    condition: str


def grow(source: Path, target_rows: int, output: Path) -> int:
    """Write `source` with its events repeated until they are at least `target_rows`; the number of rows of events."""
    output.unlink(missing_ok=True)
    _unpack(source, output)
    with closing(sqlite3.connect(output, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode = off")
        connection.execute("pragma synchronous = off")
        connection.execute("begin")
        rows = _repeat(connection, target_rows)
        connection.execute("commit")
    return rows


def _unpack(source: Path, output: Path) -> None:
    with source.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(source) if packed else source.open("rb") as file, output.open("wb") as out:
        shutil.copyfileobj(file, out, 1 << 20)


def _repeat(connection: sqlite3.Connection, target_rows: int) -> int:
    tables = find_tables(connection)
    single = count_rows(connection, tables)
    copies = math.ceil(target_rows / single) if single else 1
    steps = _steps(connection, tables)
    statements = [_statement(connection, table, steps) for table in tables]
    for copy in range(1, copies):
        for statement in statements:
            connection.execute(statement, {"copy": copy})
    _stretch_session(connection)
    return single * copies


def count_rows(connection: sqlite3.Connection, tables: Iterable[Table]) -> int:
    """The number of rows of events."""
    return sum(_number(connection, f'select count(*) from "{t.name}" where {t.condition}') for t in tables)


def find_tables(connection: sqlite3.Connection) -> list[Table]:
    """The tables of events."""
    names = [
        name for (name,) in connection.execute("select name from sqlite_master where type = 'table' order by name")
    ]
    tables = [_table(connection, name) for name in names if not name.startswith(_ONCE)]
    return [table for table in tables if not {"start", "timestamp"}.isdisjoint(table.columns)]


def _table(connection: sqlite3.Connection, name: str) -> Table:
    info = connection.execute(f'pragma table_info("{name}")').fetchall()
    keys = [column[1] for column in info if column[5]]
    newest = _number(connection, f'select max(rowid) from "{name}"')
    is_event = _NVTX_EVENTS if name == "NVTX_EVENTS" else "true"
    condition = f"rowid <= {newest} and {is_event}"
    return Table(name, tuple(column[1] for column in info), keys[0] if keys else None, condition)


def _number(connection: sqlite3.Connection, query: str) -> int:
    return connection.execute(query).fetchone()[0] or 0


def _range(connection: sqlite3.Connection, tables: Iterable[Table], columns: Iterable[str]) -> tuple[int, int]:
    """The least and the greatest value of some columns in all tables; 0, 0 when there is none."""
    bounds = [
        connection.execute(
            f'select min("{c}"), max("{c}") from "{t.name}" where {t.condition} and "{c}" > 0'
        ).fetchone()
        for t in tables
        for c in columns
        if c in t.columns
    ]
    found = [(least, most) for least, most in bounds if least is not None]
    return min((least for least, _ in found), default=0), max((most for _, most in found), default=0)


def _steps(connection: sqlite3.Connection, tables: list[Table]) -> dict[str, int]:
    """What each copy adds to a column."""
    first, last = _range(connection, tables, _TIMES)
    steps = dict.fromkeys((*_TIMES, _RAW_TIME), last - first + _NS_BETWEEN_COPIES)
    for name in _IDS:
        least, most = _range(connection, tables, [name])
        steps[name] = most - least + 1
    return steps


def _statement(connection: sqlite3.Connection, table: Table, steps: dict[str, int]) -> str:
    """The insert that adds the copy numbered `:copy` of a table's rows."""
    names = ", ".join(f'"{name}"' for name in table.columns)
    values = ", ".join(_value(connection, table, name, steps) for name in table.columns)
    return f'insert into "{table.name}" ({names}) select {values} from "{table.name}" where {table.condition} order by rowid'


def _value(connection: sqlite3.Connection, table: Table, column: str, steps: dict[str, int]) -> str:
    if column == table.key:
        least, most = _range(connection, [table], [column])
        return f'"{column}" + :copy * {most - least + 1}'
    if column in _IDS:
        return f'case when "{column}" > 0 then "{column}" + :copy * {steps[column]} else "{column}" end'
    if column in steps:
        # NULL stays NULL: a range that was never closed. 0 is a time that was not recorded.
        return f'case when "{column}" <> 0 then "{column}" + :copy * {steps[column]} else "{column}" end'
    return f'"{column}"'


def _stretch_session(connection: sqlite3.Connection) -> None:
    """Let the description of the session end where the last copy does."""
    if not connection.execute("pragma table_info(ANALYSIS_DETAILS)").fetchall():
        return
    _, last = _range(connection, find_tables(connection), _TIMES)
    connection.execute(
        "update ANALYSIS_DETAILS set duration = duration + max(:last - stopTime, 0), stopTime = max(stopTime, :last)",
        {"last": last},
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="export made with nsys export --type sqlite, gzipped or not")
    parser.add_argument("target_rows", type=int, help="rows of events to reach; at least one copy is written")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file to write")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    rows = grow(arguments.source, arguments.target_rows, arguments.output)
    seconds = time.perf_counter() - begin
    size = arguments.output.stat().st_size / 1e6
    tell(f"{arguments.output}: {rows:,} rows of events, {size:,.1f} MB at {rows / seconds / 1e6:.2f} M rows/s")


if __name__ == "__main__":
    main()
