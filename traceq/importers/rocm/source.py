"""Recognising the files of ROCm's profilers by their content, and opening the SQLite ones so that they cannot be changed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from traceq.common.scratch import temporary_folder
from traceq.errors import UnusableTrace
from traceq.importers.packed import is_packed, read_head, unpack
from traceq.importers.sqlite import IS_TABLE, IS_VIEW, limit_steps, read_only_uri, refuse_half_written

# Rows that are turned into one batch.
BATCH_ROWS = 32_768

SQLITE = b"SQLite format 3\x00"
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')
# RPD's Chrome traces begin with an empty event and the names of the GPUs' processes.
_RPD_JSON = re.compile(
    rb'\s*\[\s*(\{\}\s*,\s*)?\{"name"\s*:\s*"process_name",[^{}]*"args"\s*:\s*\{"name"\s*:\s*"GPU\d+"'
)
_SNIFF_BYTES = 4096
# The schema stands at the beginning of a SQLite file.
_SCHEMA_BYTES = 1 << 20

# What reading a damaged file raises; SQLite's own words for it may be no UTF-8.
DAMAGED_DATABASE: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

# Tables that say which of the two a SQLite file is; rocpd puts a UUID behind its names.
_OF_RPD = {"rocpd_op", "rocpd_api", "rocpd_api_ops", "rocpd_string"}
_OF_ROCPD = re.compile(r"rocpd_kernel_dispatch(_\w+)?|rocpd_region(_\w+)?|rocpd_info_agent(_\w+)?")


def sniff(path: Path) -> bool:
    """Return whether the file is rocprofv3's JSON, a rocpd or an RPD database, or RPD's Chrome trace, plain or gzip'd."""
    return kind_of(path) is not None


def kind_of(path: Path) -> str | None:
    """rocprofv3, rocpd, rpd, rpd_json, or None for another file."""
    head = read_head(path, _SNIFF_BYTES)
    if _JSON.match(head):
        return "rocprofv3"
    if _RPD_JSON.match(head):
        return "rpd_json"
    return _database_kind(path) if head.startswith(SQLITE) else None


def _database_kind(path: Path) -> str | None:
    try:
        with closing(_connect(path)) as connection:
            names = set(_table_names(connection))
    except DAMAGED_DATABASE:
        # gzip'd, or damaged: names of tables stand in its schema all the same
        names = {name.decode() for name in re.findall(rb"\brocpd_\w+", read_head(path, _SCHEMA_BYTES))}
    if names >= _OF_RPD:
        return "rpd"
    return "rocpd" if any(_OF_ROCPD.fullmatch(name) for name in names) else None


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
        with closing(_connect(plain)) as connection:
            yield connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(read_only_uri(path), uri=True)
    limit_steps(connection, path)
    # Names come from anywhere; a byte that is no UTF-8 must not stop the import.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    # What the schema of a stranger's file says is not run.
    connection.execute("pragma trusted_schema = off")
    return connection


def _table_names(connection: sqlite3.Connection) -> Iterator[str]:
    """Tables proper: views and virtual tables run what the file says."""
    for (name,) in connection.execute(f"select name from sqlite_master where {IS_TABLE}"):  # noqa: S608
        yield str(name)


def views_for_tables(connection: sqlite3.Connection) -> list[str]:
    """List views and virtual tables in the place of tables; rocpd itself has views over tables of longer names."""
    tables = list(_table_names(connection))
    query = f"select name from sqlite_master where {IS_VIEW} and name like 'rocpd\\_%' escape '\\'"  # noqa: S608
    views = [str(name) for (name,) in connection.execute(query)]
    return [view for view in views if not any(table.startswith(f"{view}_") for table in tables)]


def read_columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Return the columns of each table, without generated ones, which are expressions of the file."""
    return {
        name: {
            str(column)
            for (column,) in connection.execute("select name from pragma_table_xinfo(?) where hidden = 0", [name])
        }
        for name in _table_names(connection)
    }


def fetch_batches(connection: sqlite3.Connection, query: str) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query, some thousand at a time."""
    cursor = connection.execute(query)
    while rows := cursor.fetchmany(BATCH_ROWS):
        yield rows
