"""Files with records of collectives: found, read into staged tables, and worked out with a trace or on their own."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from traceq.analysis.inspected.fill import compare_with_trace, fill_inspected
from traceq.common.limits import LEAST_OF_QUERIES, limits
from traceq.common.near import way_out
from traceq.common.scratch import temporary_folder
from traceq.common.units import some
from traceq.database import sql
from traceq.database.connect import SHARES_OF_NOTHING, threads_for, writer_config
from traceq.errors import NoTraces, UnusableTrace
from traceq.importers import inspector
from traceq.importers.compile_log import find_compile_logs
from traceq.importers.kernel_reports import find_kernel_reports
from traceq.importers.rows import Notes, pseudonym_of
from traceq.loading.sources import split_duplicates

# The trace that records have which are read without one.
ALONE = 0

_SCHEMA = ("database/bandwidth", "analysis/inspected/tables", "analysis/inspected/views")


def find_records(given: Sequence[str | Path]) -> list[Path]:
    """Return the files with records that `given` names: files, those in folders and below, and the matches of globs.

    In folders other files are skipped. Raises UnusableTrace for a name without a file, NoTraces where none has records.
    """
    found: dict[Path, None] = {}
    for name in given:
        path = Path(name)
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if inspector.is_record_file(file))
        elif path.is_file():
            files = [path]
        elif glob.has_magic(str(name)):
            matches = sorted(glob.glob(str(name), recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
            files = [file for file in map(Path, matches) if inspector.is_record_file(file)]
        else:
            raise UnusableTrace(f"{name}: no such file{way_out(path)}")
        if not files:
            raise NoTraces(
                f"{name}: no file here holds records of collectives; the Inspector plugin writes HOST-pidPID.log into"
                " NCCL_INSPECTOR_DUMP_DIR, else into nccl-inspector-JOB in the program's folder"
            )
        found |= dict.fromkeys(files)
    return list(found)


def list_files_with(logs: Sequence[str | Path]) -> list[Path]:
    """Return the files that --with names: files as they are; of folders kernel reports, else logs of torch.compile, or records.

    Raises NoTraces for a folder without any.
    """
    return [file for log in map(Path, logs) for file in (_list_files_in(log) if log.is_dir() else [log])]


def _list_files_in(folder: Path) -> list[Path]:
    """Return the kernel reports in a folder, else logs of torch.compile, else records of collectives; raise NoTraces."""
    if reports := list(find_kernel_reports(folder)):
        return reports
    if compile_logs := list(find_compile_logs(folder)):
        return compile_logs
    try:
        return find_records([folder])
    except NoTraces as error:
        raise NoTraces(
            f"{error}; nor is one a report of a kernel profiler, or a log of torch.compile, which a program writes into the"
            " folder that TORCH_TRACE names"
        ) from error


def stage_records(connection: duckdb.DuckDBPyConnection, files: Sequence[Path], *, hides_hosts: bool) -> Notes:
    """Insert the records of the files into the staged tables, which are made; return what there is to say of them.

    With `hides_hosts` hosts have the names that traces have them by. Raises UnusableTrace for a file that cannot be used.
    """
    notes = Notes()
    sql.run(connection, "analysis/inspected/staged.sql")
    once, twice = split_duplicates(files)
    for path, first in twice:
        notes.info("given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")
    for number, path in enumerate(once):
        for table, batch in inspector.read_records(path, number, notes):
            rows = pa.Table.from_batches([_hide_hosts(batch) if hides_hosts else batch])
            connection.register("_records", rows)
            connection.execute(f"insert into staging.{table} by name from _records")
            connection.unregister("_records")
    return notes


def _hide_hosts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with the hosts' pseudonyms in place of their names."""
    place = batch.schema.get_field_index("host")
    hosts = pc.dictionary_encode(batch.column(place))
    hidden = pa.array(
        [None if host is None else pseudonym_of(host) for host in hosts.dictionary.to_pylist()], pa.string()
    )
    return batch.set_column(place, "host", hidden.take(hosts.indices))


@contextmanager
def open_records(given: Sequence[str | Path]) -> Iterator[tuple[duckdb.DuckDBPyConnection, Notes, int]]:
    """Yield a connection to a temporary database with the tables about the records, notes on them, and the number of files.

    Its rows are of the trace ALONE.
    """
    files = find_records(given)
    with temporary_folder() as folder:
        memory = max(limits().memory_bytes, LEAST_OF_QUERIES)
        config = writer_config(memory, folder, threads_for(memory))
        with closing(duckdb.connect(str(folder / "records.duckdb"), config=config)) as connection:
            connection.execute(f"{SHARES_OF_NOTHING}; set enable_progress_bar = false; attach ':memory:' as staging")
            for name in _SCHEMA:
                sql.run(connection, f"{name}.sql")
            notes = stage_records(connection, files, hides_hosts=False)
            fill_inspected(connection, ALONE)
            connection.execute("detach staging")
            yield connection, notes, len(files)


def add_records(connection: duckdb.DuckDBPyConnection, trace_id: int, logs: Sequence[Path]) -> None:
    """Fill the tables about records from those of the `logs` that hold some, and compare the trace's collectives with them.

    `connection` is to the database of the trace alone, whose other tables are filled, with its staging area attached.
    """
    given = [log for log in logs if inspector.is_record_file(log)]
    if not given:
        return
    notes = stage_records(connection, given, hides_hosts=True)
    fill_inspected(connection, trace_id)
    compare_with_trace(connection, trace_id)
    notes.info("inspector_records", len(given), f"Records of collectives were read from {some(len(given), 'file')}.")
    for _, batch in notes.batches():
        connection.register("_notes", pa.Table.from_batches([batch]))
        connection.execute("insert into import_note by name select $1 as trace_id, * from _notes", [trace_id])
        connection.unregister("_notes")
