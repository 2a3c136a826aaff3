"""Tiny trace files to ingest, and what a database holds, in a form that can be compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from traceq.common.limits import Limits, within
from traceq.common.progress import Silent
from traceq.database.connect import connect
from traceq.errors import TraceqError
from traceq.loading import ingest as loading

ROOT = Path(__file__).resolve().parents[2]


def trace_file(path: Path, rank: int = 0, kernels: int = 3) -> Path:
    """A PyTorch trace whose content depends on rank and number of kernels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
    events = [stream | {"name": f"gemm_{number % 5}", "ts": 10 * number, "dur": 4} for number in range(kernels)]
    path.write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 8}, "traceEvents": events}))
    return path


def read_contents(database: Path, trace_id: int | None = None, but: str = "ingested_at") -> dict[str, list[tuple]]:
    """All rows of all tables of traces (of one trace), in one order, without the column named `but`."""
    with connect(database) as connection:
        with_traces = (
            "select table_name from duckdb_columns() where column_name = 'trace_id' and table_name in"
            " (select table_name from duckdb_tables())"
        )
        tables = [name for (name,) in connection.execute(with_traces).fetchall()]
        of_trace = "true" if trace_id is None else f"trace_id = {trace_id}"
        return {
            table: connection.execute(
                f"select columns(lambda name: name <> '{but}') from {table} where {of_trace} order by all"
            ).fetchall()
            for table in tables
        }


def query_database(database: Path, query: str) -> list[tuple]:
    with connect(database) as connection:
        return connection.execute(query).fetchall()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ingest(*arguments, jobs=1, progress=None, **options):
    with within(Limits(jobs=jobs, progress=progress or Silent())):
        return loading.ingest(*arguments, **options)


def error_of(kind: type[TraceqError], *arguments, **options) -> str:
    """The message of the error of this kind that the ingest raises: one line, always."""
    with pytest.raises(kind) as caught:
        ingest(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def start_child(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A child process that has imported traceq, said so on stdout, and goes on with `code` (arguments: sys.argv)."""
    setup = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from traceq.loading.ingest import ingest\n"
    setup += "from traceq.common.limits import Limits, within\n"
    setup += "print('ready', flush=True)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", setup + code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child
