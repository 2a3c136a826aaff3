"""From what the user typed to the flight recorders of a job's ranks in one database in memory, read by several processes."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from traceq.analysis.hang.matching import create_tables, match_recorded
from traceq.common.child import Child
from traceq.common.limits import limits
from traceq.common.near import way_out
from traceq.common.process import usable_cpus
from traceq.common.scratch import temporary_folder
from traceq.common.units import some
from traceq.errors import NoTraces, StoreError, TraceqError, UnknownFormat, UnusableTrace
from traceq.importers import flight_recorder

# So many files go to a process at once; fewer than twice that are read here.
_FILES_AT_ONCE = 16

_ADD_FAULT = (
    "insert into recorded_dump by name select $path as path, $rank as rank, 'file' as rank_source, $fault as fault"
)
# A dump without a rank cannot be compared with others.
_DROP_NAMELESS = """
    update recorded_dump
    set entries = null, fault = 'nothing tells its rank; name it after it, as PyTorch does: nccl_trace_rank_3, fr_trace_3.json'
    where rank is null and entries is not null
"""
_FIRST_FAULT = "select path, fault, count(*) over () from recorded_dump order by path limit 1"
_REPEATED = """
    select rank, first(path order by last_created desc nulls last, entries desc, format = 'json', path)
    from recorded_dump
    where entries is not null
    group by rank
    having count(*) > 1
"""
_MARK_EARLIER = """
    update recorded_dump
    set entries = null, fault = 'not used: ' || $latest || ' is a later dump of its rank'
    where rank = $rank and path <> $latest
"""


class ReadDump(NamedTuple):
    """Batches by table, and for each file that could not be read the reason."""

    tables: list[tuple[str, pa.RecordBatch]]
    faults: list[tuple[Path, str]]


@contextmanager
def open_dumps(given: Sequence[str | Path], world_size: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to a database in memory with the tables of analysis/hang, from the dumps that `given` names.

    Those are files, folders and globs. `world_size` is how many ranks the job has. Files that cannot be read are rows
    of recorded_dump. Raises NoTraces, UnknownFormat or UnusableTrace where no dump can be read.
    """
    files = find_dumps(given)
    with temporary_folder() as scratch:
        config: dict[str, str | bool | int | float | list[str]] = {
            "threads": usable_cpus(),
            "memory_limit": f"{limits().memory_bytes >> 20} MiB",
            "temp_directory": str(scratch),
        }
        with closing(duckdb.connect(config=config)) as connection:
            create_tables(connection)
            faults = _insert_dumps(connection, files)
            _add_faults(connection, faults)
            _keep_latest(connection)
            match_recorded(connection, world_size)
            yield connection


def find_dumps(given: Sequence[str | Path]) -> list[Path]:
    """Find the dumps in files, folders and globs, without the JSON that lies beside a pickle.

    Raises NoTraces where no file is a dump, UnknownFormat for a named file of another kind, UnusableTrace for one that is
    missing.
    """
    found: dict[Path, None] = {}
    for name in given:
        found |= dict.fromkeys(_look_up(name))
    # the same dump, without stacks
    return [path for path in found if not (path.suffix == ".json" and path.with_suffix("") in found)]


def _look_up(given: str | Path) -> list[Path]:
    """Return the dumps that one file, folder or glob names."""
    path = Path(given)
    try:
        if path.is_file():
            if not _is_dump(path):
                raise UnknownFormat(
                    f"{path}: not a dump of PyTorch's flight recorder, as ranks write it at a timeout"
                    " (TORCH_FR_DUMP_TEMP_FILE) or torch._C._distributed_c10d._dump_fr_trace() returns it;"
                    f" for a trace: traceq {path}"
                )
            return [path]
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
        elif glob.has_magic(str(given)):
            files = [file for match in sorted(glob.glob(str(given), recursive=True)) if (file := Path(match)).is_file()]  # noqa: PTH207
        else:
            raise UnusableTrace(f"{path}: no such file{way_out(path)}")
        found = [file for file in files if _is_dump(file)]
    except OSError as error:
        raise UnusableTrace(f"{error.filename or path}: cannot be read: {error.strerror}") from error
    if not found:
        raise NoTraces(
            f"{given}: none of {some(len(files), 'file')} here is a dump of PyTorch's flight recorder; ranks write them"
            " at a timeout where TORCH_FR_BUFFER_SIZE and TORCH_NCCL_DUMP_ON_TIMEOUT are set (docs/hang.md)"
        )
    return found


def _is_dump(path: Path) -> bool:
    """Return whether the file begins like a dump, or is empty and has the name of one."""
    return flight_recorder.is_dump(path) or (path.stat().st_size == 0 and flight_recorder.has_name_of_dump(path))


def read_files(files: Sequence[Path]) -> ReadDump:
    """Return what these dumps hold, one batch a table, and why those without a row cannot be read."""
    read: dict[str, list[pa.RecordBatch]] = {}
    faults = []
    for path in files:
        try:
            for table, batch in list(flight_recorder.read_tables(path)):
                read.setdefault(table, []).append(batch)
        except UnusableTrace as error:
            faults.append((path, str(error).removeprefix(f"{path}: ")))
    tables = [(table, pa.Table.from_batches(batches).combine_chunks().to_batches()) for table, batches in read.items()]
    return ReadDump([(table, batch) for table, batches in tables for batch in batches], faults)


def _insert_dumps(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> list[tuple[Path, str]]:
    """Insert the rows of all dumps, read by as many processes as the limits allow; return the files that cannot be read."""
    chunks = [files[start : start + _FILES_AT_ONCE] for start in range(0, len(files), _FILES_AT_ONCE)]
    processes = limits().share(len(chunks)).processes
    faults = []
    if processes == 1 or len(chunks) == 1:
        for chunk in chunks:
            faults += _insert_tables(connection, read_files(chunk))
        return faults
    with ThreadPoolExecutor(processes) as threads:
        shares = [chunks[number::processes] for number in range(processes)]
        for found in threads.map(lambda share: _read_in_process(connection.cursor(), share), shares):
            faults += found
    return faults


def _read_in_process(connection: duckdb.DuckDBPyConnection, chunks: Sequence[Sequence[Path]]) -> list[tuple[Path, str]]:
    """Insert the rows of dumps that a process of its own reads; return the files that cannot be read. Raises its error."""
    faults: list[tuple[Path, str]] = []
    with closing(Child("traceq.loading.dump_worker")) as child:
        child.send(chunks)
        for message in child.answers:
            if isinstance(message, TraceqError):
                raise message
            faults += _insert_tables(connection, message)
    if child.exit_code != 0:
        raise StoreError(f"the process that read dumps ended with code {child.exit_code}; out of memory? try --jobs 1")
    return faults


def _insert_tables(connection: duckdb.DuckDBPyConnection, read: ReadDump) -> list[tuple[Path, str]]:
    for table, batch in read.tables:
        # a dump without a rank cannot be compared with others
        condition = "where rank is not null" if table in ("recorded_call", "recorded_fact") else ""
        rows = pa.Table.from_batches([batch])
        connection.register("batch_of_dumps", rows)
        connection.execute(f"insert into {table} by name from batch_of_dumps {condition}")
        connection.unregister("batch_of_dumps")
    return read.faults


def _add_faults(connection: duckdb.DuckDBPyConnection, faults: list[tuple[Path, str]]) -> None:
    """Add a row for each file that cannot be read. Raises UnusableTrace where no dump can be used."""
    for path, fault in faults:
        connection.execute(_ADD_FAULT, {"path": str(path), "rank": flight_recorder.rank_in_name(path), "fault": fault})
    connection.execute(_DROP_NAMELESS)
    if not connection.execute("from recorded_dump where entries is not null limit 1").fetchone():
        (path, fault, files) = connection.execute(_FIRST_FAULT).fetchall()[0]
        raise UnusableTrace(f"{path}: {fault}" + (f"; nor can {files - 1} others be used" if files > 1 else ""))


def _keep_latest(connection: duckdb.DuckDBPyConnection) -> None:
    """Take out all but the latest dump of each rank, of several alike the pickle, and say so in recorded_dump."""
    repeated = connection.execute(_REPEATED).fetchall()
    for rank, latest in repeated:
        for table in ("recorded_call", "recorded_fact", "recorded_group", "recorded_stack"):
            connection.execute(f"delete from {table} where rank = $rank", {"rank": rank})  # noqa: S608 - our own names
        connection.execute(_MARK_EARLIER, {"rank": rank, "latest": latest})
        read = read_files([Path(latest)])
        _insert_tables(
            connection,
            ReadDump([(table, batch) for table, batch in read.tables if table != "recorded_dump"], read.faults),
        )
