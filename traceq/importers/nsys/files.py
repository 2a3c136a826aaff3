"""From the user's file to a SQLite file: as it is, unpacked, written of an export of one file a table, or exported by nsys."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.common.process import find_tool
from traceq.common.scratch import temporary_folder
from traceq.errors import MissingTool, UnusableTrace
from traceq.importers.packed import GZIP, read_head, unpack
from traceq.importers.sqlite import read_only_uri, refuse_half_written

if TYPE_CHECKING:
    import pyarrow as pa

    from traceq.importers.rows import Notes


_MAGIC = b"SQLite format 3\x00"
_MARKS = ("StringIds", "CUPTI_ACTIVITY_KIND_", "NVTX_EVENTS", "TARGET_INFO_", "META_DATA_EXPORT", "EXPORT_META_DATA")
# Where a gzip'd export must have named one of its tables: the schema stands at the beginning of a SQLite
# file.
_SCHEMA_BYTES = 1 << 22

# SQLite refuses a file shorter than its header says, unless a repair is announced; the file stays read-only.
READ_WHAT_IS_THERE = "pragma writable_schema = on"


def is_sqlite(path: Path) -> bool:
    """Return whether the content is a SQLite database, plain or gzip'd. Raises OSError when it cannot be read."""
    return read_head(path, len(_MAGIC)).startswith(_MAGIC)


def sniff(path: Path) -> bool:
    """Return whether the file is an nsys report, an nsys SQLite export (plain or gzip'd), or a table of another export.

    Raises OSError when it cannot be read.
    """
    if not path.is_file():
        return False
    if path.suffix in TABLE_SUFFIXES:
        return bool(files_of(path))
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
    if head.startswith(_MAGIC):
        return _has_nsys_tables(path)
    if head.startswith(GZIP):
        begin = read_head(path, _SCHEMA_BYTES)
        return begin.startswith(_MAGIC) and any(mark.encode() in begin for mark in _MARKS)
    return is_report(path, head)


def _has_nsys_tables(path: Path) -> bool:
    """Return whether a SQLite file has a table that only nsys writes; in a damaged file the name is searched as text."""
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            names = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        # Damaged; if it was an nsys export its tables' names still stand in it, and reading says what is
        # wrong.
        return any(mark.encode() in read_head(path, _SCHEMA_BYTES) for mark in _MARKS)
    return any(str(name).lower().startswith(tuple(mark.lower() for mark in _MARKS)) for (name,) in names)


@contextmanager
def open_sqlite_file(path: Path, notes: Notes) -> Iterator[Path]:
    """Provide the path of a SQLite file with what `path` holds: itself, or a temporary file, removed at the end.

    A gzip'd file is unpacked, Parquet and Arrow tables are written into one file, a report is exported by nsys. Damage
    is noted in `notes`. Raises UnusableTrace when nothing can be read, MissingTool for a report without nsys.
    """
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
    if head.startswith(_MAGIC):
        refuse_half_written(path)
        _note_pending_writes(path, notes)
        _note_truncation(path, notes)
        yield path
        return
    tables = files_of(path)
    if not tables and not head.startswith(GZIP) and not is_report(path, head):
        raise UnusableTrace(f"{path}: neither a SQLite file nor an nsys report; export the report again")
    with temporary_folder() as folder:
        unpacked = folder / "export.sqlite"
        if tables:
            write_sqlite(tables, unpacked)
        elif head.startswith(GZIP):
            _decompress(path, unpacked, notes)
        else:
            export_report(path, unpacked)
        _note_truncation(unpacked, notes)
        yield unpacked


def _decompress(path: Path, target: Path, notes: Notes) -> None:
    """Unpack a gzip'd file into `target`, with a note where it is damaged or cut short and only its beginning is there.

    Raises UnusableTrace when nothing can be unpacked.
    """
    if (error := unpack(path, target)) is None:
        return
    if not target.stat().st_size:
        raise UnusableTrace(f"{path}: cannot be decompressed ({error}); copy the file again") from error
    notes.data_loss("truncated", 1, f"The gzip'd file is damaged or cut short ({error}); copy it again.")


def _note_pending_writes(path: Path, notes: Notes) -> None:
    """Add a data-loss note when SQLite's write-ahead log (-wal) beside the file holds writes, which are not read."""
    beside = path.with_name(f"{path.name}-wal")
    if beside.is_file() and beside.stat().st_size:
        notes.data_loss(
            "wal_ignored",
            1,
            "A -wal file with unfinished writes lies next to the export and is not read. Run: "
            "sqlite3 EXPORT 'pragma wal_checkpoint(truncate)'",
        )


def _note_truncation(path: Path, notes: Notes) -> None:
    """Add a data-loss note when the SQLite file has fewer bytes than its header says: the copy was cut short."""
    with path.open("rb") as file:
        header = file.read(100)
    page = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65_536 if page == 1 else page)
    # The page count is valid only if the change counter was written together with it.
    if header[24:28] == header[92:96] and path.stat().st_size < expected:
        missing = expected - path.stat().st_size
        notes.data_loss("truncated", 1, f"The SQLite file is {missing} bytes shorter than it says; copy it again.")


# The format is not documented and has no signature anybody documents either, so the name has to tell.
# Since 2021.4, and before.
REPORT_SUFFIXES = (".nsys-rep", ".qdrep")


def is_report(path: Path, head: bytes) -> bool:
    """Return whether the file looks like a report in nsys' own format: by its suffix, unless `head` is something else.

    `head` are the file's first bytes; an empty file is no report.
    """
    return (
        path.suffix in REPORT_SUFFIXES
        and bool(head)
        and not head.startswith((b"{", b"[", b"<", b"version https:", b"\x1f\x8b", b"SQLite format 3"))
    )


def _export_command(report: Path, output: Path, *, blobs: bool) -> list[str]:
    """Return the command that exports a report to SQLite; `blobs` includes payloads of NVTX ranges (NCCL's messages)."""
    return [
        "nsys",
        "export",
        "--type",
        "sqlite",
        *(["--include-blobs=true"] if blobs else []),
        "--output",
        str(output),
        "--force-overwrite",
        "true",
        str(report),
    ]


def export_report(report: Path, output: Path) -> None:
    """Write the report as SQLite file `output` with `nsys export`, with payloads of NVTX ranges if nsys can.

    Raises MissingTool where nsys is not on PATH, UnusableTrace when it fails.
    """
    nsys = find_tool("nsys")
    if nsys is None:
        by_hand = " ".join(_export_command(report, report.with_suffix(".sqlite"), blobs=False))
        raise MissingTool(f"{report}: only nsys can read this format and it is not on PATH; export it first: {by_hand}")
    # nsys before 2024 has no payloads, and does not know the option either.
    for blobs in (True, False):
        call = _export_command(report, output, blobs=blobs)
        done = subprocess.run([nsys, *call[1:]], capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0 and output.exists():
            return
    said = (done.stderr or done.stdout).strip().splitlines()
    reason = said[-1].strip() if said else f"exit code {done.returncode}"
    raise UnusableTrace(f"{report}: nsys export failed ({reason}); use an nsys at least as new as the report")


# Exports of one file a table: nsys export --type parquetdir (TABLE.parquet) and arrowdir (TABLE.arrow).
TABLE_SUFFIXES = (".parquet", ".arrow")
_ARROW_FILE = b"ARROW1"
# Every export has strings. Not every folder with a table of this name is an export of nsys, so another one must be there.
_STRING_TABLE = "StringIds"
_OTHERS = ("CUPTI_ACTIVITY_KIND_*", "NVTX_EVENTS*", "OSRT_API*", "META_DATA_EXPORT", "TARGET_INFO_*")


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of the Parquet or Arrow export that `path` is a table of, the table of strings first.

    () if `path` is no such table, or nothing beside it shows that nsys wrote it.
    """
    strings = path.with_name(f"{_STRING_TABLE}{path.suffix}")
    if path.suffix not in TABLE_SUFFIXES or not strings.is_file():
        return ()
    if not any(True for other in _OTHERS for _ in path.parent.glob(f"{other}{path.suffix}")):
        return ()
    tables = (table for table in path.parent.glob(f"*{path.suffix}") if table.is_file() and table != strings)
    return strings, *sorted(tables)


def write_sqlite(files: tuple[Path, ...], target: Path) -> None:
    """Write the tables, one a file, into the SQLite file `target`, each under its file's name.

    Raises UnusableTrace for a table that cannot be read.
    """
    # The SQLite driver takes 0.3 s to import, which reading another trace should not have to wait for.
    import adbc_driver_manager
    import pyarrow as pa
    from adbc_driver_sqlite import dbapi

    with closing(dbapi.connect(f"file:{target}")) as database, closing(database.cursor()) as cursor:
        for file in files:
            try:
                schema, batches = _read_table(file)
                cursor.adbc_ingest(file.stem, pa.RecordBatchReader.from_batches(schema, batches), mode="create")
            except (pa.ArrowException, OSError, adbc_driver_manager.Error) as error:
                # What follows is where in our code.
                reason = " ".join(str(error).split(" Detail: Python exception: ")[0].split())
                raise UnusableTrace(f"{file}: cannot be read ({reason}); export it again") from error
        database.commit()


def _read_table(file: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema of a Parquet or Arrow table in types that SQLite has, and its batches cast to that schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.suffix == ".parquet":
        table = pq.ParquetFile(file)
        schema, batches = table.schema_arrow, table.iter_batches()
    else:
        mapped = pa.memory_map(str(file))
        if mapped.read(len(_ARROW_FILE)) == _ARROW_FILE:
            arrow = pa.ipc.open_file(mapped)
            schema, batches = arrow.schema, map(arrow.get_batch, range(arrow.num_record_batches))
        else:
            # nsys itself writes streams.
            mapped.seek(0)
            stream = pa.ipc.open_stream(mapped)
            schema, batches = stream.schema, iter(stream)
    plain = pa.schema([(field.name, _plain_type(field.type)) for field in schema])
    return plain, (_to_plain(batch, plain) for batch in batches)


def _to_plain(batch: pa.RecordBatch, plain: pa.Schema) -> pa.RecordBatch:
    """Return the batch with columns of these types; numbers beyond 63 bits as SQLite exports have them, with the sign bit."""
    import pyarrow as pa

    columns = [
        column.view(field.type) if pa.types.is_uint64(column.type) else column.cast(field.type)
        for column, field in zip(batch.columns, plain, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=plain)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type that stands for a type in SQLite: int64, float64, binary, or string for anything else."""
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.binary() if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else pa.string()
