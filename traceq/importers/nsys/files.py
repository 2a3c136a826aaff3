"""From the user's file to a SQLite file that can be opened: as it is, decompressed, or exported by nsys."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.common.scratch import temporary_folder
from traceq.errors import UnusableTrace
from traceq.importers.nsys import directory, export
from traceq.importers.packed import DAMAGED, GZIP, GzipStream
from traceq.importers.sqlite import refuse_half_written, uri

if TYPE_CHECKING:
    from traceq.importers.nsys.notes import Notes

_MAGIC = b"SQLite format 3\x00"
_MARKS = (
    "StringIds",
    "CUPTI_ACTIVITY_KIND_",
    "NVTX_EVENTS",
    "TARGET_INFO_",
    "META_DATA_EXPORT",
    "EXPORT_META_DATA",
)
# Where a gzip'd export must have named one of its tables: the schema stands at the beginning of a SQLite
# file.
_SCHEMA_BYTES = 1 << 22
_CHUNK = 1 << 20

# SQLite refuses a file shorter than its header says, unless a repair is announced; the file stays read-only.
READ_WHAT_IS_THERE = "pragma writable_schema = on"


def head_of(path: Path, size: int = 16) -> bytes:
    """The first bytes of the file, of what is inside when it is gzip'd; empty when they cannot be had."""
    with path.open("rb") as file:
        head = file.read(size)
        if not head.startswith(GZIP):
            return head
        file.seek(0)
        try:
            return GzipStream(file).read(size)
        except DAMAGED:
            return b""


def is_sqlite(path: Path) -> bool:
    """Whether the file is a SQLite database, plain or gzip'd. Raises OSError when it cannot be read."""
    return head_of(path).startswith(_MAGIC)


def sniff(path: Path) -> bool:
    """Whether this is an nsys SQLite export, plain or gzip'd, a table of another export, or a report in nsys' own format."""
    if not path.is_file():
        return False
    if path.suffix in directory.SUFFIXES:
        return bool(directory.files_of(path))
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
    if head.startswith(_MAGIC):
        return _has_nsys_tables(path)
    if head.startswith(GZIP):
        begin = head_of(path, _SCHEMA_BYTES)
        return begin.startswith(_MAGIC) and any(mark.encode() in begin for mark in _MARKS)
    return export.is_report(path, head)


def _has_nsys_tables(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(uri(path), uri=True)) as connection:
            names = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        # Damaged; if it was an nsys export its tables' names still stand in it, and reading says what is
        # wrong.
        return any(mark.encode() in head_of(path, _SCHEMA_BYTES) for mark in _MARKS)
    return any(str(name).startswith(_MARKS) for (name,) in names)


@contextmanager
def sqlite_file(path: Path, notes: Notes) -> Iterator[Path]:
    """The SQLite file to read for `path`; temporary ones are gone afterwards, whatever happens."""
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
    if head.startswith(_MAGIC):
        refuse_half_written(path)
        _note_pending_writes(path, notes)
        _note_truncation(path, notes)
        yield path
        return
    tables = directory.files_of(path)
    if not tables and not head.startswith(GZIP) and not export.is_report(path, head):
        raise UnusableTrace(f"{path}: neither a SQLite file nor an nsys report; export the report again")
    with temporary_folder() as folder:
        unpacked = folder / "export.sqlite"
        if tables:
            directory.as_sqlite(tables, unpacked)
        elif head.startswith(GZIP):
            _decompress(path, unpacked, notes)
        else:
            export.export(path, unpacked)
        _note_truncation(unpacked, notes)
        yield unpacked


def _decompress(path: Path, target: Path, notes: Notes) -> None:
    """Unpack as much as there is; a file cut short or damaged still has its beginning."""
    with path.open("rb") as packed, target.open("wb") as out:
        stream = GzipStream(packed)
        try:
            while part := stream.read(_CHUNK):
                out.write(part)
        except DAMAGED as error:
            if not out.tell():
                raise UnusableTrace(f"{path}: cannot be decompressed ({error}); copy the file again") from error
            notes.data_loss("truncated", 1, f"The gzip'd file is damaged or cut short ({error}); copy it again.")


def _note_pending_writes(path: Path, notes: Notes) -> None:
    beside = path.with_name(f"{path.name}-wal")
    if beside.is_file() and beside.stat().st_size:
        notes.data_loss(
            "wal_ignored",
            1,
            "A -wal file with unfinished writes lies beside the export and is not read. Run: "
            "sqlite3 EXPORT 'pragma wal_checkpoint(truncate)'",
        )


def _note_truncation(path: Path, notes: Notes) -> None:
    """The header says how many pages the file has; fewer means that a copy was cut short."""
    with path.open("rb") as file:
        header = file.read(100)
    page = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65_536 if page == 1 else page)
    # The page count is valid only if the change counter was written together with it.
    if header[24:28] == header[92:96] and path.stat().st_size < expected:
        missing = expected - path.stat().st_size
        notes.data_loss("truncated", 1, f"The SQLite file is {missing} bytes shorter than it says; copy it again.")
