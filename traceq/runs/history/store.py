"""A history as a DuckDB file: one writer at a time, who waits for its turn; what is added is there in full or not at all."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from traceq.common.limits import LEAST_OF_QUERIES, limits
from traceq.database.comments import comment_statements
from traceq.database.connect import check_name, is_database, threads_for
from traceq.database.failures import FAILURES, one_line
from traceq.database.query import ask
from traceq.database.sql import execute, read_columns, statement
from traceq.errors import SchemaMismatch, StoreError, UnusableBaseline
from traceq.runs.history.entry import HistoryEntry, HistoryReport

VERSION = 1
WAIT = 60.0
"""Seconds that a reader or writer waits for its turn, unless it is told otherwise."""

_FILE = Path(".traceq") / "history.duckdb"
_TABLES_FILE = "runs/history/tables.sql"
# Seconds between two tries to open the file, drawn anew each time.
_LEAST_PAUSE, _MOST_PAUSE = 0.02, 0.12
# In DuckDB's words for a file that another process has open.
_HELD = re.compile(r"(?:set|Conflicting) lock\b")
_MACROS = "select function_name from system.main.duckdb_functions() where not internal limit 1"


class AddedReports(NamedTuple):
    """How many reports were added, and those that the history had already, by report_id."""

    added: int
    repeated: tuple[str, ...]


def history_path() -> Path:
    """Return the history that commands use: TRACEQ_HISTORY, else .traceq/history.duckdb below the current directory."""
    return Path(os.environ.get("TRACEQ_HISTORY") or _FILE)


def table_names() -> tuple[str, ...]:
    """Return the names of the tables of a history."""
    return tuple(read_columns((_TABLES_FILE,)))


def is_history(path: Path) -> bool:
    """Return whether the file is a history. Raises StoreError when it cannot be read."""
    if not path.is_file() or not is_database(path):
        return False
    try:
        with duckdb.connect(os.path.abspath(path), read_only=True) as connection:  # noqa: PTH100 - as in database/connect
            return "history_schema" in _list_tables(connection)
    except duckdb.Error:
        return False


@contextmanager
def open_history(path: Path, wait: float = WAIT) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the history; a writer is waited for.

    Raises StoreError when there is none, when it cannot be read or is not free within `wait` seconds, SchemaMismatch
    when another version of traceq made it.
    """
    if not path.is_file():
        raise StoreError(f"{path}: no such history; traceq history add SOURCE --in {path} makes one")
    if not is_database(path):
        raise StoreError(f"{path}: not a DuckDB database, so no history; name another file")
    connection = _connect(path, wait, read_only=True)
    try:
        with _damage_named(path):
            _check_schema(connection, path)
        yield connection
    finally:
        connection.close()


@contextmanager
def write_history(path: Path, wait: float = WAIT) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to the history inside a transaction, which is committed unless an error leaves the block.

    The file is made if it is missing. Raises StoreError and SchemaMismatch as `open_history` does.
    """
    if path.exists() and path.stat().st_size and not is_database(path):
        raise StoreError(f"{path}: not a DuckDB database, so no history; name another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; choose another file") from error
    connection = _connect(path, wait, read_only=False)
    try:
        with _damage_named(path):
            connection.begin()
            if not _list_tables(connection):
                execute(connection, statement(_TABLES_FILE), {})
                connection.execute(";".join(comment_statements(statement(_TABLES_FILE))))
                connection.execute("insert into history_schema values (?)", [VERSION])
            _check_schema(connection, path)
            yield connection
            connection.commit()
    finally:
        connection.close()


def add_entries(path: Path, entries: Sequence[HistoryEntry], wait: float = WAIT) -> AddedReports:
    """Add reports that the history does not have yet, all in one transaction. Raises as `write_history` does."""
    with write_history(path, wait) as connection:
        known = {report_id for (report_id,) in connection.execute("select report_id from report").fetchall()}
        repeated = []
        for entry in entries:
            if entry.report.report_id in known:
                repeated.append(entry.report.report_id)
                continue
            known.add(entry.report.report_id)
            _insert(connection, entry)
        return AddedReports(len(entries) - len(repeated), tuple(repeated))


def _insert(connection: duckdb.DuckDBPyConnection, entry: HistoryEntry) -> None:
    """Insert the rows of an entry."""
    row = {name: getattr(entry.report, name) for name in HistoryReport.__struct_fields__}
    for name in ("added_at", "ran_at"):
        row[name] = row[name].astimezone(UTC).replace(tzinfo=None)
    names = ", ".join(row)
    connection.execute(f"insert into report ({names}) values ({', '.join('?' * len(row))})", list(row.values()))  # noqa: S608 - names of this file
    report_id = entry.report.report_id
    if entry.quantities:
        columns = [
            [getattr(each, name) for each in entry.quantities] for name in ("name", "value", "low", "high", "unit")
        ]
        connection.execute(
            "insert into quantity select ?, unnest(?::varchar[]), unnest(?::double[]), unnest(?::double[]),"
            " unnest(?::double[]), unnest(?::varchar[])",
            [report_id, *columns],
        )
    if entry.facts:
        connection.execute(
            "insert into fact select ?, unnest(?::varchar[]), unnest(?::varchar[])",
            [report_id, list(entry.facts), list(entry.facts.values())],
        )


def merge_history(path: Path, other: Path, wait: float = WAIT) -> AddedReports:
    """Add the reports of the history `other` that the history at `path` does not have. Raises as `write_history` does."""
    if path.exists() and path.samefile(other):
        raise StoreError(f"{other}: is the history itself; name another one to take reports from")
    with open_history(other, wait) as source:
        taken = {name: source.sql(f"from {name}").to_arrow_table() for name in ("report", "quantity", "fact")}
    with write_history(path, wait) as connection:
        for name, rows in taken.items():
            connection.register(f"taken_{name}", rows)
        of_both = connection.execute("select report_id from taken_report semi join report using (report_id)").fetchall()
        is_new = "where report_id not in (select report_id from report)"
        for name in ("quantity", "fact", "report"):  # the reports last: they say what is new
            connection.execute(f"insert into {name} by name from taken_{name} {is_new}")
        return AddedReports(taken["report"].num_rows - len(of_both), tuple(report_id for (report_id,) in of_both))


def remove_reports(path: Path, report_ids: Sequence[str], wait: float = WAIT) -> int:
    """Remove reports, named by the beginning of their id, and return how many.

    Raises UnusableBaseline for a beginning of no report or of several.
    """
    with write_history(path, wait) as connection:
        for begin in report_ids:
            report_id = find_report(connection, begin, path)
            for table in ("report", "quantity", "fact"):
                connection.execute(f"delete from {table} where report_id = ?", [report_id])  # noqa: S608 - names of this file
    return len(report_ids)


def find_report(connection: duckdb.DuckDBPyConnection, begin: str, path: Path) -> str:
    """Return the id of the only report whose id begins so. Raises UnusableBaseline without one, or with several."""
    found = connection.execute(
        "select report_id from report where starts_with(report_id, ?) limit 2", [begin]
    ).fetchall()
    if len(found) != 1 or not begin:
        several = "several reports begin" if found else "no report begins"
        raise UnusableBaseline(f"{path}: {several} with {begin!r}; traceq history list shows their ids")
    return str(found[0][0])


def read_reports(connection: duckdb.DuckDBPyConnection, series: str | None = None) -> list[HistoryReport]:
    """Return the reports, of one series or of all, in the order of time."""
    chosen = "" if series is None else "where series = $series"
    query = f"from report {chosen} order by ran_at, added_at, rowid"
    rows = ask(connection, query, **({} if series is None else {"series": series}))
    return [_decode(row) for row in rows]


def _decode(row: Mapping[str, Any]) -> HistoryReport:
    """Return a row of the table report as a record, its times in UTC."""
    times = {name: row[name].replace(tzinfo=UTC) for name in ("added_at", "ran_at")}
    return HistoryReport(**{**{name: row[name] for name in HistoryReport.__struct_fields__}, **times})


def now() -> datetime:
    """Return the time, UTC, in whole microseconds as the tables keep it."""
    return datetime.now(UTC)


def _connect(path: Path, wait: float, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open the file, waiting up to `wait` seconds for another process that writes it. Raises StoreError."""
    check_name(path)
    memory = max(limits().memory_bytes, LEAST_OF_QUERIES)
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory}B",
        "threads": str(threads_for(memory)),
    }
    until = time.monotonic() + wait
    while True:
        try:
            connection = duckdb.connect(os.path.abspath(path), read_only=read_only, config=config)  # noqa: PTH100 - as in database/connect
        except duckdb.Error as error:
            if not _HELD.search(str(error)):
                raise _refuse(path, error, read_only=read_only) from error
            if time.monotonic() > until:
                raise StoreError(
                    f"{path}: another process has been writing it for {wait:g} s; try again, or wait longer with --wait"
                ) from error
        else:
            connection.execute("set enable_external_access = false")
            return connection
        time.sleep(random.uniform(_LEAST_PAUSE, _MOST_PAUSE))  # noqa: S311 - so that those who wait do not look all at once


def _refuse(path: Path, error: duckdb.Error, *, read_only: bool) -> StoreError:
    """Return the error for a file that cannot be opened."""
    if not read_only and not os.access(path if path.exists() else path.parent, os.W_OK):
        return StoreError(f"{path}: cannot be written: Permission denied; choose another file")
    return StoreError(f"{path}: cannot be opened as a history, is it damaged? {one_line(error)}")


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn DuckDB's errors about files inside the block into a StoreError that names the history."""
    try:
        yield
    except FAILURES as error:
        raise StoreError(f"{path}: cannot be used as a history, is it damaged? {one_line(error)}") from error


def _list_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the tables and views of the database."""
    listed = "select table_name from duckdb_tables() union all select view_name from duckdb_views() where not internal"
    return {name for (name,) in connection.execute(listed).fetchall()}


def _check_schema(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise SchemaMismatch for another version of the tables, StoreError for a database that is no history, or not as made."""
    macros = connection.execute(_MACROS).fetchall()
    if macros:
        raise StoreError(f"{path}: has the macro {macros[0][0]}, which no history has; ask its author for the reports")
    tables = connection.execute("select table_name from duckdb_tables()").fetchall()
    if missing := set(table_names()) - {name for (name,) in tables}:
        raise StoreError(
            f"{path}: a DuckDB database, but no history: lacks the table {min(missing)}; name another file"
        )
    versions = connection.execute("select version from history_schema").fetchall()
    if versions != [(VERSION,)]:
        found = ", ".join(str(version) for (version,) in versions) or "none"
        raise SchemaMismatch(
            f"{path}: is a history of schema {found}, this traceq understands {VERSION}; use the traceq that made it,"
            " or start another file with --in"
        )
