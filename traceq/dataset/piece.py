"""One rank's trace becomes one piece: a Parquet file a table, and piece.json, which is written last."""

from __future__ import annotations

import hashlib
import json
import resource
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import msgspec
from msgspec.structs import replace

from traceq.common.version import __version__
from traceq.database.connect import SCHEMA_VERSION
from traceq.database.failures import FAILURES, one_line, way_out
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.database.tables import columns_of, stored_columns, tables_of_traces
from traceq.dataset.place import Place, read_json
from traceq.errors import StoreError
from traceq.loading.build import Task, build

NAME = "piece.json"
VERSION = 1

# Of jobs: true of several ranks together, or of no use without the others.
OF_JOBS = frozenset(("collective_member", "job_rank", "judgement"))

# What differs between two ingests of the same file.
_OF_INGEST = {"trace": "ingested_at"}


class PieceTask(msgspec.Struct, frozen=True):
    """The task of making a piece: how its database is built, and the folder in the dataset where it goes.

    `asked` is a hash of all that a piece depends on besides the trace's file; an earlier ingest's piece with the same
    hash is reused. `room` is the folder for temporary files, by default the system's.
    """

    build: Task
    place: Place
    folder: str
    asked: str
    room: str | None = None


class MadePiece(msgspec.Struct, frozen=True):
    """The record of a piece, as a worker returns it and piece.json holds it.

    `run` is the value of --run. `rank` is as in the trace, `file_rank` as in its file's name. `job_key` is what the
    traces of a job have in common where no run is named. `begin` and `end` are ns since 1970, None without such a
    clock. `tables` has the number of rows by table. `digest` is a hash of the content, the same wherever it was made;
    `files` are hashes of the files by table, none in older pieces. `cost` is in seconds and bytes.
    """

    trace_id: int
    run: str | None
    rank: int | None
    file_rank: int | None
    source: str
    sha256: str
    asked: str
    begin: int | None
    end: int | None
    digest: str
    tables: dict[str, int]
    size: int
    cost: dict[str, float]
    job_key: str = ""
    files: dict[str, str] = {}
    traceq_piece: int = VERSION
    traceq: str = __version__
    schema: int = SCHEMA_VERSION


def make_piece(task: PieceTask) -> MadePiece:
    """Build the piece of `task`, put it into its folder, and return its record.

    Raises TraceqError if the trace is unusable.
    """
    begun, cpu = time.perf_counter(), time.process_time()
    with TemporaryDirectory(prefix="traceq-piece-", dir=task.room) as name:
        scratch = Path(name)
        built = replace(task.build, database=scratch / "piece.duckdb", scratch=scratch)
        files = scratch / "files"
        files.mkdir()
        try:
            build(built, lambda _state: None)
            with closing(duckdb.connect(str(built.database), config={"threads": built.threads})) as connection:
                facts = write_tables(connection, files)
        except FAILURES as error:
            raise StoreError(f"{built.source.path}: {one_line(error)}{way_out(error)}") from error
        made = MadePiece(
            trace_id=built.trace_id,
            run=built.run,
            source=str(built.source.shown),
            sha256=built.sha256,
            asked=task.asked,
            cost={
                "wall_s": round(time.perf_counter() - begun, 3),
                "cpu_s": round(time.process_time() - cpu, 3),
                "peak_bytes": float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10),
            },
            **facts,
        )
        _put(task, files, made)
    return made


def _put(task: PieceTask, files: Path, made: MadePiece) -> None:
    """Write the piece into its folder; a worker that was taken for dead may do the same at the same time.

    In a local folder one of them wins. In an object store each object is whole, whoever wrote it last.
    """
    place, content = task.place, msgspec.json.format(msgspec.json.encode(made))
    folder = f"{task.folder}.{secrets.token_hex(4)}" if place.is_local else task.folder
    place.remove(folder)  # what a worker that died has left
    place.put(files, folder)
    place.write(content, folder, NAME)
    if folder == task.folder:
        return
    if find_made_piece(task) is not None:
        place.remove(folder)
        return
    place.remove(task.folder)
    place.move(folder, task.folder)


def find_made_piece(task: PieceTask) -> MadePiece | None:
    """Return the record of the piece in the task's folder if an earlier try made it for the same request, else None."""
    made = read_piece(task.place, task.folder)
    same = made is not None and (made.asked, made.trace_id, made.run) == (
        task.asked,
        task.build.trace_id,
        task.build.run,
    )
    return made if same else None


def write_tables(connection: duckdb.DuckDBPyConnection, files: Path) -> dict[str, Any]:
    """Write the trace's tables that have rows to Parquet files; return the fields of MadePiece that follow from them."""
    names = [table for table in tables_of_traces(connection) if table not in OF_JOBS]
    tables = {name: rows for name in names if (rows := _count_rows(connection, name))}
    for table in tables:
        copy_table(connection, table, files)
    (about,) = ask(connection, statement("dataset/piece.sql"))
    return {
        **about,
        "tables": tables,
        "digest": _hash_rows(connection, tables),
        "files": digest_files(files),
        "size": sum(path.stat().st_size for path in files.iterdir()),
    }


def digest_files(folder: Path) -> dict[str, str]:
    """Return the hash of each file in a folder of this machine, by its name without ending: that of a table, or "told"."""
    return {path.stem: hash_file(path) for path in sorted(folder.iterdir())}


def hash_file(path: Path) -> str:
    """Return the SHA-256 of the file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_table(connection: duckdb.DuckDBPyConnection, table: str, folder: Path) -> None:
    """Write the rows of a table, without generated columns, to TABLE.parquet in the folder."""
    target = str(folder / f"{table}.parquet").replace("'", "''")
    columns = stored_columns(columns_of(connection, table))
    connection.execute(f"copy (select {columns} from {table}) to '{target}' (format parquet, compression zstd)")


def _count_rows(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    """Return the number of rows of the table."""
    (found,) = connection.execute(f"select count(*) from {table}").fetchall()
    return int(found[0])


def _hash_rows(connection: duckdb.DuckDBPyConnection, tables: dict[str, int]) -> str:
    """Return a hash of the rows of all tables, whatever their order; `tables` are numbers of rows."""
    sums = {}
    for table, rows in tables.items():
        (found,) = connection.execute(f"select sum(hash(t)) from ({digest_query(table)}) as t").fetchall()
        sums[table] = rows, str(found[0])
    return digest_of_sums(sums)


def digest_query(table: str) -> str:
    """Return the SQL query whose rows are hashed for a table: without columns that differ from ingest to ingest."""
    without = f"exclude ({_OF_INGEST[table]})" if table in _OF_INGEST else ""
    return f"select * {without} from {table}"


def digest_of_sums(sums: Mapping[str, tuple[int, str]]) -> str:
    """Return the hash of a piece, from the number of rows and the sum of row hashes of each table."""
    return hashlib.sha256(json.dumps(sums, sort_keys=True).encode()).hexdigest()


def read_piece(place: Place, folder: str) -> MadePiece | None:
    """Return the record of the piece in a folder; None if it is unfinished or another version of traceq made it.

    Raises StoreError if the record is damaged.
    """
    content = read_json(place, folder, NAME)
    if not isinstance(content, dict) or (content.get("traceq_piece"), content.get("schema")) != (
        VERSION,
        SCHEMA_VERSION,
    ):
        return None
    try:
        return msgspec.convert(content, MadePiece)
    except msgspec.ValidationError as error:
        raise StoreError(f"{place.name}: {folder}/{NAME} is damaged: {error}") from error
