"""A history as a DuckDB file that is replaced by each writer: readers see all of an addition or nothing, and never wait.

Writers take turns by a lock on a file beside it. DuckDB's own lock let a writer read what another was still writing
(docs/decisions/0041-history.md).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from traceq.common import signals
from traceq.common.files import name_part
from traceq.database.comments import comment_statements
from traceq.database.connect import is_database
from traceq.database.failures import FAILURES, one_line
from traceq.database.plain import connect_plain
from traceq.database.query import ask
from traceq.database.sql import execute, read_columns, statement
from traceq.errors import SchemaMismatch, StoreError, UnusableBaseline
from traceq.runs.history.entry import HistoryEntry, HistoryReport

if TYPE_CHECKING:
    import duckdb

VERSION = 1
WAIT = 60.0
"""Seconds that a writer waits for its turn, unless it is told otherwise."""

_FILE = Path(".traceq") / "history.duckdb"
_TABLES_FILE = "runs/history/tables.sql"
_HISTORY = ("history_schema",)
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY_MODE = 0o666
_MACROS = "select function_name from system.main.duckdb_functions() where not internal limit 1"


class AddedReports(NamedTuple):
    """The number of reports that were added, and the ids of those that the history had already."""

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
        with closing(connect_plain(path, path, read_only=True)) as connection:
            return _HISTORY in connection.execute("select table_name from duckdb_tables()").fetchall()
    except (StoreError, *FAILURES):
        return False


@contextmanager
def open_history(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the history as it is now.

    Raises StoreError when there is none or it cannot be read, SchemaMismatch when another version of traceq made it.
    """
    if not path.is_file():
        raise StoreError(f"{path}: no such history; traceq history add SOURCE --in {path} makes one")
    _check_file(path)
    connection = connect_plain(path, path, read_only=True)
    try:
        with _damage_named(path):
            _check_schema(connection, path)
        yield connection
    finally:
        connection.close()


@contextmanager
def write_history(path: Path, wait: float = WAIT) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a copy of the history, which takes its place at the end of the block unless an error leaves it.

    The history is made if it is missing. Raises StoreError where it cannot be written, or other processes write it for
    more than `wait` seconds, SchemaMismatch when another version of traceq made it.
    """
    with _take_turn(path, wait):
        # A link stays.
        target = path.resolve()
        copy = name_part(target)
        log = copy.with_name(f"{copy.name}.wal")
        try:
            with signals.remove_on_signal(copy), signals.remove_on_signal(log):
                if target.exists():
                    _check_file(path)
                    shutil.copyfile(target, copy)
                    shutil.copymode(target, copy)
                with closing(connect_plain(copy, path, read_only=False)) as connection, _damage_named(path):
                    connection.begin()
                    _create_schema(connection)
                    _check_schema(connection, path)
                    yield connection
                    connection.commit()
                    # Else it would be done at the end, perhaps by a thread that outlives the connection.
                    connection.execute("checkpoint")
                copy.replace(target)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}; choose another file") from error
        finally:
            copy.unlink(missing_ok=True)
            log.unlink(missing_ok=True)


@contextmanager
def _take_turn(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock of the history's writers during the block; the system takes it from processes that end."""
    lock = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, _LOCK, _ANY_MODE)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}; choose another file") from error
    try:
        # The system gives the lock to who waits longest, but knows no limit of time: so a thread waits.
        waiting = threading.Thread(target=fcntl.flock, args=(descriptor, fcntl.LOCK_EX), daemon=True)
        waiting.start()
        waiting.join(wait)
        if waiting.is_alive():
            raise StoreError(
                f"{path}: other processes have been writing it for {wait:g} s; try again, or wait longer with --wait"
            )
        yield
    finally:
        os.close(descriptor)


def _check_file(path: Path) -> None:
    """Raise StoreError unless the file is a DuckDB database that no other program is writing."""
    if not is_database(path):
        raise StoreError(f"{path}: not a DuckDB database, so no history; name another file")
    if path.with_name(f"{path.name}.wal").exists():
        raise StoreError(f"{path}: another program has it open for writing ({path.name}.wal); close it there first")


def _create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables of a history in a database that has none."""
    if not connection.execute("select table_name from duckdb_tables()").fetchall():
        execute(connection, statement(_TABLES_FILE), {})
        connection.execute(";".join(comment_statements(statement(_TABLES_FILE))))
        connection.execute("insert into history_schema values (?)", [VERSION])


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
            _insert_entry(connection, entry)
        return AddedReports(len(entries) - len(repeated), tuple(repeated))


def _insert_entry(connection: duckdb.DuckDBPyConnection, entry: HistoryEntry) -> None:
    """Insert the rows of an entry."""
    row = {name: getattr(entry.report, name) for name in HistoryReport.__struct_fields__}
    for name in ("added_at", "ran_at"):
        row[name] = row[name].astimezone(UTC).replace(tzinfo=None)
    names = ", ".join(row)
    connection.execute(f"insert into report ({names}) values ({', '.join('?' * len(row))})", list(row.values()))  # noqa: S608 - names of this file
    report_id = entry.report.report_id
    if entry.quantities:
        columns = [
            [getattr(quantity, name) for quantity in entry.quantities]
            for name in ("name", "value", "low", "high", "unit")
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
    with open_history(other) as source:
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
    return [_decode_report(row) for row in rows]


def _decode_report(row: Mapping[str, Any]) -> HistoryReport:
    """Return a row of the table report as a record, its times in UTC."""
    times = {name: row[name].replace(tzinfo=UTC) for name in ("added_at", "ran_at")}
    return HistoryReport(**{**{name: row[name] for name in HistoryReport.__struct_fields__}, **times})


def read_clock() -> datetime:
    """Return the time, UTC, in whole microseconds as the tables keep it."""
    return datetime.now(UTC)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn DuckDB's errors about files inside the block into a StoreError that names the history."""
    try:
        yield
    except FAILURES as error:
        raise StoreError(f"{path}: cannot be used as a history, is it damaged? {one_line(error)}") from error


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
