"""The schema of trace databases; opening them, and checking that this version of traceq understands them."""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import gettempdir

import duckdb

from traceq.common import signals
from traceq.common.limits import LEAST_OF_QUERIES, limits
from traceq.common.near import way_out
from traceq.common.owner import owner_word
from traceq.common.process import usable_cpus
from traceq.database import sql, untrusted
from traceq.database.amounts import check_amounts
from traceq.database.comments import comment_statements
from traceq.database.failures import FAILURES, one_line
from traceq.database.keys import check_keys
from traceq.database.planning import MOST_ROWS, count_slices, disable_costly_optimizers
from traceq.database.times import check_times
from traceq.errors import SchemaMismatch, StoreError

SCHEMA_VERSION = 5

# Version of a schema -> the file that changes its tables into those of the next version, rows included. Tables, views
# and macros that are new, views that changed and comments come from SCHEMA.
MIGRATIONS = {4: "database/migrations/from_4.sql"}

# A share of nothing is not known: NULL, where floating point has NaN, which JSON has not, and where DuckDB would fail.
SHARES_OF_NOTHING = "set ieee_floating_point_ops = false; set error_on_division_by_zero = false"

# DuckDB guesses that temporary tables are tiny and then answers as-of joins by nested loops: a minute instead of a second.
_NO_NESTED_LOOPS = "set asof_loop_join_threshold = 0"

# The function by which a view of files checks those of its table.
CHECK = "traceq_files_are_sound"

_MAGIC_AT = 8
_MAGIC = b"DUCK"

# Every table ends in a block that is partly empty: with DuckDB's default of 256 KiB a small trace would be mostly that.
_BLOCK_BYTES = 64 << 10

# DuckDB needs about so many bytes for each of its threads.
_MEMORY_PER_THREAD = 128 << 20

_VIEWS = "select view_name, internal from system.main.duckdb_views()"

# In dependency order: a view over a missing table fails at once.
SCHEMA = (
    "database/schema.sql",
    "database/intervals.sql",
    "database/frames.sql",
    "database/names.sql",
    "database/ramps.sql",
    "database/bandwidth.sql",
    "database/stacks.sql",
    "analysis/ledger/tables.sql",
    "analysis/stalls/tables.sql",
    "analysis/steps/tables.sql",
    "analysis/copies/tables.sql",
    "analysis/data/tables.sql",
    "analysis/memory/tables.sql",
    "analysis/monitors/tables.sql",
    "analysis/run/tables.sql",
    "analysis/run/change_tables.sql",
    "analysis/compilation/tables.sql",
    "analysis/communication/tables.sql",
    "analysis/inspected/tables.sql",
    "analysis/kernels/tables.sql",
    "analysis/layers/tables.sql",
    "analysis/graphs/tables.sql",
    "analysis/replay/tables.sql",
    "analysis/serving/tables.sql",
    "analysis/requests/tables.sql",
    "analysis/program/tables.sql",
    "analysis/triage/tables.sql",
    "analysis/job/tables.sql",
    "diagnosis/sql/tables.sql",
    "database/shared.sql",
    "database/views.sql",
    "database/readable.sql",
    "analysis/steps/marks.sql",
    "analysis/kernels/gpu_model.sql",
    "analysis/kernels/views.sql",
    "analysis/monitors/views.sql",
    "analysis/run/views.sql",
    "analysis/compilation/views.sql",
    "analysis/copies/views.sql",
    "analysis/data/views.sql",
    "analysis/memory/views.sql",
    "analysis/communication/views.sql",
    "analysis/inspected/views.sql",
    "analysis/ledger/views.sql",
    "analysis/serving/views.sql",
    "analysis/requests/views.sql",
    "analysis/job/views.sql",
)


def threads_for(memory: int) -> int:
    """Return the number of DuckDB threads to use with `memory` bytes: one per usable CPU, but 128 MiB for each.

    At least 1.
    """
    return max(1, min(usable_cpus(), memory // _MEMORY_PER_THREAD))


def _limit(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Set the command's limits on memory and threads, and a folder for spilled data, which is removed with the process.

    They are set, not passed to connect(): all connections of a process to one file must be opened with the same
    configuration.
    """
    memory = limits().memory_bytes
    connection.execute("set memory_limit = ?", [f"{max(memory, LEAST_OF_QUERIES)}B"])
    connection.execute(f"{SHARES_OF_NOTHING}; {_NO_NESTED_LOOPS}")
    connection.execute("set threads = ?", [threads_for(memory)])
    spill = str(_spill_folder(path))
    signals.remove_on_exit(spill)
    if connection.execute("select current_setting('temp_directory')").fetchone() != (spill,):
        connection.execute("set temp_directory = ?", [spill])


def _spill_folder(path: Path) -> Path:
    """Return a path for this process's spilled data: beside the database where that is writable, else among temporary files."""
    folder = path.resolve().parent
    if os.access(folder, os.W_OK):
        return folder / f".{path.name}.{owner_word()}.spill"
    return Path(gettempdir()) / f"traceq-{owner_word()}-00000000"


def writer_config(memory: int, scratch: Path, threads: int) -> dict[str, str | bool | int | float | list[str]]:
    """Return DuckDB settings for a connection that writes a database with at most `memory` bytes.

    Data beyond that spills into the folder `scratch`.
    """
    return {
        "storage_compatibility_version": "latest",
        "default_block_size": str(_BLOCK_BYTES),
        "memory_limit": f"{memory >> 20}MiB",
        "temp_directory": str(scratch / "spill"),
        "threads": str(threads),
    }


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all missing tables, views, macros and comments, and store the schema's version; the database may be empty."""
    # One commit: each waits for the disk.
    connection.begin()
    for name in SCHEMA:
        sql.run(connection, name)
        connection.execute(";".join(comment_statements(sql.statement(name))))
    connection.execute("delete from traceq_schema")
    connection.execute("insert into traceq_schema values (?)", [SCHEMA_VERSION])
    connection.commit()


def connect(
    path: str | Path,
    *,
    read_only: bool = True,
    older: bool = False,
    writes: Path | None = None,
) -> duckdb.DuckDBPyConnection:
    """Open and check a trace database; with `older` also one that `traceq upgrade` has yet to bring to this schema.

    DuckDB keeps to the command's limits (traceq.common.limits). Queries read no other files than those of
    `trust_places`, and write none outside the folder `writes`. Raises StoreError when the database is missing or
    unreadable, SchemaMismatch when another version of traceq made it.
    """
    path = Path(path)
    _check_file(path)
    seen = untrusted.fingerprint(path)
    has_log = _has_log(path)
    try:
        # Absolute, for DuckDB takes names like :memory: and md:x for something else than a file.
        connection = duckdb.connect(os.path.abspath(path), read_only=read_only)  # noqa: PTH100 - Path.absolute keeps ..
    except duckdb.Error as error:
        raise StoreError(f"{path}: cannot be opened as a DuckDB database: {one_line(error)}") from error
    try:
        # first, for a macro could take the place of what the next lines call
        is_new = _real_path(path) not in _trusted and not untrusted.was_checked(path, seen)
        if is_new:
            _check_objects(connection, path)
        _limit(connection, path)
        _forbid_external_access(connection, path, writes)
        check_schema(connection, path, older=older)
        if has_log:
            _check_log(connection, path)
        if not older:
            _check_complete(connection, path)
        if is_new and not older:
            _check_values(connection, path)
            untrusted.mark_checked(path, seen)
        # without some of its optimizers DuckDB 2.0 waits for ever for rows of Parquet files
        if not list_trusted_places(path):
            _plan(connection, path)
    except Exception:
        connection.close()
        raise
    return connection


def trust_places(path: Path, places: Sequence[tuple[str, str]], are_sound: Callable[[str], bool]) -> None:
    """Allow queries of the database `path`, which this process has just made, to read files in these places.

    A place is an address (empty for this machine) and a folder. A database itself cannot say what it may read, as it
    may come from a stranger. Views of the files call `are_sound` by the name CHECK, see `add_check`.
    """
    _trusted[_real_path(path)] = tuple(places)
    _checks[_real_path(path)] = are_sound


_trusted: dict[str, tuple[tuple[str, str], ...]] = {}
_checks: dict[str, Callable[[str], bool]] = {}
atexit.register(_checks.clear)  # else DuckDB prints what is left of them


def find_check(path: Path) -> Callable[[str], bool] | None:
    """Return the `are_sound` that trust_places was given for the database, if any."""
    return _checks.get(_real_path(path))


def add_check(connection: duckdb.DuckDBPyConnection, are_sound: Callable[[str], bool]) -> None:
    """Let queries of the connection call, by the name CHECK, what says whether a table's files are sound, or raises an error."""
    # another connection of this process to the same database may have done so
    with suppress(duckdb.CatalogException):
        connection.create_function(CHECK, are_sound, ["VARCHAR"], "BOOLEAN")


def _real_path(path: Path) -> str:
    """Return the path as text, absolute and without links."""
    return os.path.realpath(path)


def _forbid_external_access(connection: duckdb.DuckDBPyConnection, path: Path, writes: Path | None) -> None:
    """Forbid queries to read any file but the database and its trusted places, or to write outside the folder `writes`."""
    places = list_trusted_places(path)
    if are_sound := find_check(path):
        add_check(connection, are_sound)
    for address in {address for address, _ in places if address}:
        from traceq.database.remote import read_through

        read_through(connection, address)
    (is_open,) = connection.execute("select current_setting('enable_external_access')").fetchall()[0]
    if not is_open:  # another connection of this process has closed the database off
        return
    folders = [folder for _, folder in places] + ([str(writes)] if writes else [])
    if folders:
        connection.execute("set allowed_directories = ?", [folders])
    connection.execute("set enable_external_access = false")


def is_of_files(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the database's tables are views of other files (a dataset), into whose folder queries could write."""
    query = "select path from duckdb_databases() where database_name = current_database()"
    return any(
        path is not None and bool(list_trusted_places(Path(path))) for (path,) in connection.execute(query).fetchall()
    )


def list_trusted_places(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the address and folder of each place that the database may read; the address is empty on this machine."""
    return _trusted.get(_real_path(path), ())


def _plan(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Switch off DuckDB's costly optimizers if the database is small."""
    with _damage_named(path):
        rows = count_slices(connection)
        if rows <= MOST_ROWS:
            disable_costly_optimizers(connection, rows)


def check_name(path: Path) -> None:
    """Raise StoreError if the path, of which the current folder may be a part, is not valid UTF-8: DuckDB cannot open it."""
    try:
        os.path.abspath(path).encode()  # noqa: PTH100 - as for connect
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{path}: DuckDB cannot open a file whose name, or folder, is not UTF-8; choose another"
        ) from error


def is_database(path: Path) -> bool:
    """Return whether the file is a DuckDB database by its content. Raises StoreError when it cannot be read."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error


def _check_file(path: Path) -> None:
    """Raise StoreError unless `path` is a DuckDB file. For a SQLite file DuckDB would try to download an extension."""
    check_name(path)
    if path.is_dir():
        raise StoreError(f"{path}: is a directory, not a trace database; name a file in it")
    if not path.is_file():
        make = f"; make one with: traceq ingest SOURCE -o {path}"
        raise StoreError(f"{path}: no such trace database{way_out(path, make)}")
    if not is_database(path):
        raise StoreError(f"{path}: not a DuckDB database; name a trace database, or a new file to make one")


def _has_log(path: Path) -> bool:
    """Return whether a write-ahead log with anything in it lies beside the database."""
    try:
        return path.with_name(f"{path.name}.wal").stat().st_size > 0
    except OSError:
        return False


def _check_log(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError if DuckDB has taken nothing from the write-ahead log beside the database, which it does in silence."""
    with _damage_named(path):
        query = "select wal_size from pragma_database_size() where database_name = current_database()"
        sizes = connection.execute(query).fetchall()
    if ("0 bytes",) in sizes and _has_log(path):
        raise StoreError(
            f"{path}: {path.name}.wal next to it is damaged, or does not belong to this database, so its changes "
            "are lost; remove it to read the database without them, or ingest the traces again"
        )


def _check_objects(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError if a view or macro hides behind a name of traceq's or DuckDB's, as it could run anything."""
    try:
        views = {name for name, is_internal in connection.execute(_VIEWS).fetchall() if not is_internal}
        if swapped := views & set(table_names()):
            raise StoreError(f"{path}: not as traceq makes it: {min(swapped)} is a view; ask its author for the trace")
        versions = connection.execute("select version from traceq_schema").fetchall()
    except duckdb.Error:
        return  # which check_schema says in its words
    with _damage_named(path):
        untrusted.check(connection, path, create_schema, is_current=(SCHEMA_VERSION,) in versions)


def _check_complete(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError if tables of this schema version are missing."""
    names = "select table_name from duckdb_tables() union all select view_name from duckdb_views()"
    with _damage_named(path):
        there = connection.execute(names).fetchall()
    if missing := set(table_names()) - {name for (name,) in there}:
        raise StoreError(f"{path}: lacks tables ({', '.join(sorted(missing)[:3])}); ingest the traces again")


def _check_values(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError for times and amounts that no trace can have, and for duplicate rows."""
    with _damage_named(path, (duckdb.Error, *FAILURES)):
        check_times(connection, path, SCHEMA)
        check_amounts(connection, path, SCHEMA)
        check_keys(connection, path)


@contextmanager
def _damage_named(path: Path, errors: tuple[type[Exception], ...] = FAILURES) -> Iterator[None]:
    """Turn `errors` inside the block into a StoreError that names the database's file and asks whether it is damaged."""
    try:
        yield
    except errors as error:
        raise StoreError(f"{path}: cannot be read, is it damaged? {one_line(error)}") from error


@cache
def table_names() -> list[str]:
    """Return the names of all tables of the schema."""
    return [name for file in SCHEMA for name in re.findall(r"create table if not exists (\w+)", sql.statement(file))]


def check_schema(connection: duckdb.DuckDBPyConnection, path: Path, *, older: bool = False) -> None:
    """Raise SchemaMismatch unless the database has this schema version, or with `older` one that can be upgraded to it.

    Raises StoreError if it is not a database of traceq's.
    """
    try:
        versions = connection.execute("select version from traceq_schema").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise StoreError(f"{path}: a DuckDB database, but not one made by traceq ingest; name another file") from error
    except FAILURES as error:
        raise StoreError(f"{path}: cannot be read, is it damaged? {one_line(error)}") from error
    if len(versions) > 1:
        raise StoreError(
            f"{path}: has several schema versions ({', '.join(str(one) for (one,) in versions[:3])}),"
            " so its content is unknown; ingest the traces again"
        )
    version = versions[0][0] if versions else None
    if version == SCHEMA_VERSION or (older and version in MIGRATIONS):
        return
    if version in MIGRATIONS:
        way_out = f"bring it up to date with: traceq upgrade {path}"
    elif isinstance(version, int) and version > SCHEMA_VERSION:
        way_out = "upgrade traceq"
    else:
        way_out = "ingest the traces again"
    raise SchemaMismatch(
        f"{path}: has schema version {version}, this traceq understands version {SCHEMA_VERSION}; {way_out}"
    )
