"""One trace file becomes one new database: importer rows go to a staging area, SQL joins them up from there."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
from msgspec.structs import replace

from traceq.analysis.graphs.captured import Captured
from traceq.analysis.order import fill, read_capture
from traceq.analysis.steps.choice import Choice
from traceq.common.progress import State
from traceq.database import sql
from traceq.database.connect import threads_for, writer_config
from traceq.database.empty import create_database
from traceq.database.planning import MOST_ROWS, disable_costly_optimizers
from traceq.errors import UnusableTrace
from traceq.loading.annotated_nodes import AnnotationFile, stage_annotations
from traceq.loading.bounds import drop_impossible, end_gpu_work, end_marks
from traceq.loading.compile_logs import stage_compile_logs
from traceq.loading.execution_traces import stage_execution_traces
from traceq.loading.inductor import read_inductor, split_readable
from traceq.loading.inspected import add_records
from traceq.loading.made_with import stage_made_with
from traceq.loading.monitors import (
    NOTHING,
    MonitorLogs,
    choose_request_logs,
    read_snapshots,
    stage_logs,
    stage_training_logs,
)
from traceq.loading.printed import stage_printed
from traceq.loading.request_logs import stage_request_logs
from traceq.loading.sources import Source
from traceq.loading.staging import COPIED, READ, insert_fitting, list_staged
from traceq.loading.worker_samples import stage_worker_samples

# Batches are cut to DuckDB's row groups: an insert that ends inside one leaves rows that the next has to move.
_ROWS_PER_INSERT = 122_880

# Rows with long args fill memory before they fill a row group.
_BYTES_PER_INSERT = 32 << 20

# Tables differ in what costs time, reading or inserting: a few inserts may queue, as much as memory allows.
_INSERTS_AHEAD, _BYTES_AHEAD = 3, 40 << 20

# At most so many times the size of the file staged rows take in memory, and a gzip'd file when unpacked.
_STAGED, _UNPACKED = 4, 32

# DuckDB's share of the memory that an ingest may take: the rest is for what it does not count, arrays of Arrow and numpy.
_OF_DUCKDB = 0.75


class Task(msgspec.Struct, frozen=True):
    """The task of building the database of one trace: `jobs` processes read it, `threads` analyse it. Sizes in bytes.

    `captures` are traces and files of annotations that tell of the work within its CUDA graphs. `inductor` are files of
    torch.compile about its kernels; `is_inductor_given` where the user named these files. `beside` are logs that ran
    beside the trace.
    """

    source: Source
    database: Path
    scratch: Path
    trace_id: int
    run: str | None
    sha256: str
    choice: Choice
    jobs: int
    threads: int
    memory: int
    captures: tuple[Source | AnnotationFile, ...] = ()
    inductor: tuple[Path, ...] = ()
    is_inductor_given: bool = False
    beside: MonitorLogs = NOTHING


def build(task: Task, progress: Callable[[State], None]) -> None:
    """Write the database `task.database` from the task's trace; `progress` is called with the state of the work."""
    captures = [_read_capture(task, source) for source in task.captures if isinstance(source, Source)]
    files, wrong = (task.inductor, []) if task.is_inductor_given else split_readable(task.inductor)
    inductor = read_inductor(files)
    with _build_database(task, progress) as (connection, rows):
        for problem in wrong:
            connection.execute(
                "insert into import_note by name select $trace_id as trace_id, 'data_loss' as severity,"
                " 'compiler_file_left_out' as code, 1 as count, $text as text",
                {"trace_id": task.trace_id, "text": f"beside the trace, and left out: {problem}"},
            )
        fill(
            connection,
            task.trace_id,
            task.choice,
            lambda stage, share: progress(State(task.source.size, rows, stage, share)),
            memory=task.memory if rows > MOST_ROWS else None,
            captures=captures,
            compiled=inductor.kernels,
            compiled_graphs=inductor.graphs,
        )
        add_records(connection, task.trace_id, task.beside.logs)


def _read_capture(task: Task, source: Source) -> Captured:
    """Return the operators behind the kernels of CUDA graphs, read from `source`, a CUDA-graph capture of the same program.

    Its temporary database is deleted. Raises UnusableTrace where it launches no kernel.
    """
    database = task.database.with_suffix(".capture.duckdb")
    with _build_database(replace(task, source=source, database=database, captures=()), lambda _state: None) as (
        connection,
        _,
    ):
        captured = read_capture(connection, task.trace_id)
    database.unlink()
    if not captured.kernels.num_rows:
        raise UnusableTrace(
            f"{source.path}: launches no kernel, so it shows nothing about graphs; --capture needs a trace of "
            "the program while it"
            " captures its graphs, or without them (docs/capture.md)"
        )
    return captured


@contextmanager
def _build_database(task: Task, progress: Callable[[State], None]) -> Iterator[tuple[duckdb.DuckDBPyConnection, int]]:
    """Yield a connection to the task's new database, with the rows of its trace (most still staged), and their number."""
    # One thread inserts while the importer reads on the other cores.
    config = writer_config(int(task.memory * _OF_DUCKDB), task.scratch, threads=1)
    # DuckDB guesses that temporary tables are tiny and then answers as-of joins by nested loops: hours instead of seconds.
    config["asof_loop_join_threshold"] = "0"
    create_database(task.database)
    with closing(duckdb.connect(str(task.database), config=config)) as connection:
        with _attach_staging(connection, task):
            rows = _load(connection, task, progress)
            if rows <= MOST_ROWS:
                disable_costly_optimizers(connection, rows)
            else:
                connection.execute(f"set threads = {min(task.threads, threads_for(task.memory))}")
            drop_impossible(connection)
            if stage_logs(connection, task.source.path, task.beside):
                drop_impossible(connection)
            stage_training_logs(connection, task.beside)
            stage_annotations(connection, [file for file in task.captures if isinstance(file, AnnotationFile)])
            stage_compile_logs(connection, task.beside.logs, task.beside.offset)
            stage_request_logs(connection, choose_request_logs(task.beside), task.beside.offset)
            stage_execution_traces(connection, task.beside.logs)
            stage_made_with(connection, task.source.path)
            stage_printed(connection, task.source.path)
            stage_worker_samples(connection, task.source.path)
            if connection.execute("from staging.thread where thread_name = 'Host Threads' limit 1").fetchone():
                sql.run(connection, "loading/calling_thread.sql")
            if connection.execute("from staging.python_sample limit 1").fetchone():
                sql.run(connection, "loading/sampled_frames.sql")
            end_marks(connection)
            end_gpu_work(connection)
            _copy(connection, task)
            yield connection, rows
        connection.execute("checkpoint")


@contextmanager
def _attach_staging(connection: duckdb.DuckDBPyConnection, task: Task) -> Iterator[None]:
    # In memory, and what does not fit spills: nobody needs these rows after a crash, so no disk is waited for. Compressing them
    # takes longer than all the rest of an insert.
    """Attach the in-memory database staging with those tables that are read even if empty, and detach it at the end."""
    size = task.source.size * (_UNPACKED if task.source.path.suffix == ".gz" else 1)
    connection.execute(f"attach ':memory:' as staging {'' if size * _STAGED <= task.memory else '(compress)'}")
    connection.begin()
    sql.run(connection, "loading/staging.sql")
    for table in READ:
        connection.execute(f"create table staging.{table} as from {table} limit 0")
    connection.commit()
    yield
    connection.execute("detach staging")


def _load(connection: duckdb.DuckDBPyConnection, task: Task, progress: Callable[[State], None]) -> int:
    """Insert all rows that the importer yields, and memory snapshots beside the trace, into staging; return their number."""
    read_bytes = 0

    def on_read(total: int) -> None:
        nonlocal read_bytes
        read_bytes = total

    with task.source.check_unchanged(), closing(_Loader(connection)) as loader:
        for table, batch in task.source.importer.read(task.source.path, on_read, task.jobs):
            loader.add(table, batch)
            progress(State(read_bytes, loader.rows))
        loader.flush()
        for table, batch in read_snapshots(connection, task.beside.logs, task.beside.offset):
            loader.add(table, batch)
        loader.flush()
        return loader.rows


class _Loader:
    """Gathers batches per table and inserts them into staging, one insert at a time, in a thread of its own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.rows = 0
        self._connection = connection.cursor()
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._rows: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._thread = ThreadPoolExecutor(1)
        self._inserting: deque[tuple[int, Future[None]]] = deque()

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Add rows of a table; full groups of rows are inserted meanwhile. Waits for earlier inserts if there are too many."""
        self.rows += batch.num_rows
        while batch.num_rows >= (missing := _ROWS_PER_INSERT - self._rows[table]):
            self._wait_with(table, batch.slice(0, missing))
            self._submit(table)
            batch = batch.slice(missing)
        self._wait_with(table, batch)
        if self._bytes[table] >= _BYTES_PER_INSERT:
            self._submit(table)

    def flush(self) -> None:
        """Insert all rows that were added, and wait until that is done."""
        for table in list(self._waiting):
            self._submit(table)
        self._wait(0, 0)

    def close(self) -> None:
        """End the thread when its inserts are done."""
        self._thread.shutdown()

    def _wait_with(self, table: str, batch: pa.RecordBatch) -> None:
        """Keep a batch until there are enough rows of its table to insert."""
        self._waiting.setdefault(table, []).append(batch)
        self._rows[table] += batch.num_rows
        self._bytes[table] += batch.nbytes

    def _submit(self, table: str) -> None:
        """Give the kept batches of a table to the thread to be inserted; waits first where too many inserts are under way."""
        self._wait(_INSERTS_AHEAD, _BYTES_AHEAD)
        batches = self._waiting.pop(table)
        del self._rows[table]
        self._inserting.append((self._bytes.pop(table), self._thread.submit(self._insert, table, batches)))

    def _wait(self, inserts: int, size: int) -> None:
        """Wait until at most `inserts` inserts, of at most `size` bytes together, are left to do."""
        while len(self._inserting) > inserts or sum(waiting for waiting, _ in self._inserting) > size:
            self._inserting.popleft()[1].result()

    def _insert(self, table: str, batches: list[pa.RecordBatch]) -> None:
        # Batches of one table may lack a column or type it otherwise (a column of NULLs): insert like with like.
        """Insert batches into a staged table; columns are matched by name, and batches with different columns go apart."""
        while batches:
            schema = batches[0].schema
            alike = [batch for batch in batches if batch.schema.equals(schema)]
            batches = [batch for batch in batches if not batch.schema.equals(schema)]
            insert_fitting(self._connection, table, pa.Table.from_batches(alike))


def _copy(connection: duckdb.DuckDBPyConnection, task: Task) -> None:
    """Insert the staged tables that need no analysis into the database, unchanged but for trace_id."""
    connection.begin()
    _describe(connection, task)
    for table in filter(COPIED[1:].__contains__, list_staged(connection)):
        connection.execute(
            f"insert into {table} by name select $trace_id as trace_id, * exclude (trace_id) from staging.{table}",
            {"trace_id": task.trace_id},
        )
    connection.commit()


def _describe(connection: duckdb.DuckDBPyConnection, task: Task) -> None:
    """Insert the row of the table trace: the staged one with id, run, path, hash, size, format and time of the ingest."""
    path = task.source.shown
    connection.execute(
        "insert into trace by name"
        " select * replace ($trace_id as trace_id, $run as run, $path as path, $sha256 as sha256,"
        " $size as size_bytes, $format as format, $now as ingested_at)"
        " from staging.trace",
        {
            "trace_id": task.trace_id,
            "run": task.run,
            # Names need not be text; DuckDB's strings do.
            "path": os.fsencode(path).decode("utf-8", "backslashreplace"),
            "sha256": task.sha256,
            "size": task.source.size,
            "format": task.source.importer.NAME,
            # Not DuckDB's current_timestamp: as a plain timestamp that is local time.
            "now": datetime.now(UTC).replace(tzinfo=None),
        },
    )
