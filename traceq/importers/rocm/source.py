"""Recognising the files of ROCm's profilers by their content, and opening the SQLite ones so that they cannot be changed."""

from __future__ import annotations

import mmap
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from traceq.common.scratch import temporary_folder
from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, GZIP, GzipStream
from traceq.importers.sqlite import IS_TABLE, IS_VIEW, limit_steps, refuse_half_written, uri

SQLITE = b"SQLite format 3\x00"
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"rocprofiler-sdk-tool"\s*:')
# RPD's Chrome traces begin with an empty event and the names of the GPUs' processes.
_RPD_JSON = re.compile(
    rb'\s*\[\s*(\{\}\s*,\s*)?\{"name"\s*:\s*"process_name",[^{}]*"args"\s*:\s*\{"name"\s*:\s*"GPU\d+"'
)
_SNIFF_BYTES = 4096
# The schema stands at the beginning of a SQLite file.
_SCHEMA_BYTES = 1 << 20
_CHUNK = 1 << 20

# What reading a damaged file raises; SQLite's own words for it may be no UTF-8.
DAMAGED_DATABASE: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

# Tables that say which of the two a SQLite file is; rocpd puts a UUID behind its names.
_OF_RPD = {"rocpd_op", "rocpd_api", "rocpd_api_ops", "rocpd_string"}
_OF_ROCPD = re.compile(r"rocpd_kernel_dispatch(_\w+)?|rocpd_region(_\w+)?|rocpd_info_agent(_\w+)?")


def sniff(path: Path) -> bool:
    """Whether the file is rocprofv3's JSON, a rocpd or an RPD database, or RPD's Chrome trace, plain or gzip'd."""
    return kind_of(path) is not None


def kind_of(path: Path) -> str | None:
    """rocprofv3, rocpd, rpd, rpd_json, or None for another file."""
    head = _head(path, _SNIFF_BYTES)
    if _JSON.match(head):
        return "rocprofv3"
    if _RPD_JSON.match(head):
        return "rpd_json"
    return _database_kind(path) if head.startswith(SQLITE) else None


def _head(path: Path, size: int) -> bytes:
    """The first bytes of what is in the file, unpacked; empty where it cannot be."""
    with path.open("rb") as file:
        if file.read(len(GZIP)) != GZIP:
            file.seek(0)
            return file.read(size)
        file.seek(0)
        try:
            return GzipStream(file).read(size)
        except DAMAGED:
            return b""


def _database_kind(path: Path) -> str | None:
    try:
        with closing(_connect(path)) as connection:
            names = set(_table_names(connection))
    except DAMAGED_DATABASE:
        # gzip'd, or damaged: names of tables stand in its schema all the same
        names = {name.decode() for name in re.findall(rb"\brocpd_\w+", _head(path, _SCHEMA_BYTES))}
    if names >= _OF_RPD:
        return "rpd"
    return "rocpd" if any(_OF_ROCPD.fullmatch(name) for name in names) else None


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read, to the file or to what is in the gzip'd file."""
    with temporary_folder() as folder, closing(_plain(path, folder)) as connection:
        yield connection


def _plain(path: Path, folder: Path) -> sqlite3.Connection:
    with path.open("rb") as packed:
        if packed.read(len(GZIP)) != GZIP:
            refuse_half_written(path)
            return _connect(path)
        packed.seek(0)
        unpacked = folder / "trace.sqlite"
        with unpacked.open("wb") as out:
            stream = GzipStream(packed)
            try:
                while part := stream.read(_CHUNK):
                    out.write(part)
            except DAMAGED as error:
                raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again") from error
    return _connect(unpacked)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(uri(path), uri=True)
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
    """Views and virtual tables in the place of tables of rocpd and RPD; rocpd itself has views over tables of longer names."""
    tables = list(_table_names(connection))
    query = f"select name from sqlite_master where {IS_VIEW} and name like 'rocpd\\_%' escape '\\'"  # noqa: S608
    views = [str(name) for (name,) in connection.execute(query)]
    return [view for view in views if not any(table.startswith(f"{view}_") for table in tables)]


def columns_of(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """The columns of each table, without generated ones, which are expressions of the file."""
    return {
        name: {
            str(column)
            for (column,) in connection.execute("select name from pragma_table_xinfo(?) where hidden = 0", [name])
        }
        for name in _table_names(connection)
    }


def text_of(path: Path) -> bytes | mmap.mmap:
    """The document; of a plain file only the pages that are read are in memory."""
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        if not is_packed:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        stream = GzipStream(file)
        return b"".join(iter(lambda: stream.read(_CHUNK), b""))
