"""Training logs beside a trace, or without one: read, and inserted as rows of run_log, run_value and run_event."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from traceq.importers.monitors.reading import SECOND
from traceq.importers.training_logs import read_training_log
from traceq.importers.training_logs.reading import LogEvent, LogValue, TrainingLog
from traceq.loading.sources import split_duplicates

_VALUE = pa.schema({
    "trace_id": pa.int32(), "log_id": pa.int32(), "line": pa.int64(), "step": pa.int64(), "at_ns": pa.int64(),
    "quantity": pa.string(), "value": pa.float64(), "unit": pa.string(),
})  # fmt: skip
_EVENT = pa.schema({
    "trace_id": pa.int32(), "log_id": pa.int32(), "line": pa.int64(), "at_ns": pa.int64(), "dur": pa.int64(),
    "mark": pa.string(), "phase": pa.string(), "step": pa.int64(), "detail": pa.string(),
})  # fmt: skip
_LOG = pa.schema({
    "trace_id": pa.int32(), "log_id": pa.int32(), "file": pa.string(), "format": pa.string(), "clock": pa.string(),
    "shift": pa.int64(), "first_at": pa.int64(), "last_at": pa.int64(), "gpus": pa.int64(), "rank": pa.int64(),
    "lines": pa.int64(), "lines_left_out": pa.int64(),
})  # fmt: skip
_FIELDS = {"dur": "dur_ns"}


def insert_training_logs(
    connection: duckdb.DuckDBPyConnection, logs: Sequence[Path], formats: Sequence[Path] = (), trace_id: int = 0
) -> list[tuple[Path, Path]]:
    """Insert what the logs say into the tables run_log, run_value and run_event of the trace (0: logs without one).

    `formats` are the user's TOML files of text formats. Return the pairs of a duplicate with the first file of the same
    content, which is read once. Raises UnknownFormat or UnusableTrace.
    """
    paths, twice = split_duplicates(logs)
    for number, path in enumerate(paths):
        log = read_training_log(path, formats)
        for table, rows in build_rows(trace_id, number, path, log).items():
            connection.register("_rows", rows)
            connection.execute(f"insert into {table} by name from _rows")
            connection.unregister("_rows")
    return twice


def build_rows(
    trace_id: int, number: int, path: Path, log: TrainingLog, offset: float | None = None
) -> dict[str, pa.Table]:
    """Return the rows of one log by table; `offset` are the seconds to add to its times, None if the user says none."""
    entries: list[LogValue | LogEvent] = [*log.values, *log.events]
    times = [entry.at_ns for entry in entries if entry.at_ns is not None]
    about = {
        "file": path.name,
        "format": log.format,
        "clock": log.clock,
        "shift": round(offset * SECOND) if offset is not None and times else 0 if log.clock == "utc" else None,
        "first_at": min(times, default=None),
        "last_at": max(times, default=None),
        "gpus": log.gpus,
        "rank": log.rank,
        "lines": log.lines,
        "lines_left_out": log.left_out,
    }
    return {
        "run_log": pa.Table.from_pylist([{"trace_id": trace_id, "log_id": number, **about}], schema=_LOG),
        "run_value": _build_table(trace_id, number, log.values, _VALUE),
        "run_event": _build_table(trace_id, number, log.events, _EVENT),
    }


def _build_table(
    trace_id: int, number: int, entries: Sequence[LogValue] | Sequence[LogEvent], schema: pa.Schema
) -> pa.Table:
    """Return a table of the entries of one log, with the numbers of trace and log in front."""
    own = {name: [getattr(entry, _FIELDS.get(name, name)) for entry in entries] for name in schema.names[2:]}
    return pa.table({"trace_id": [trace_id] * len(entries), "log_id": [number] * len(entries), **own}, schema=schema)
