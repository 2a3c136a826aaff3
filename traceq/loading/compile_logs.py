"""Structured logs of torch.compile beside a trace, or without one: read, placed on the trace's clock, and inserted as rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from traceq.common.near import way_out
from traceq.common.units import some
from traceq.errors import NoTraces, UnusableTrace
from traceq.importers.compile_log import find_compile_logs, is_compile_log, read_compile_log
from traceq.importers.compile_log.records import Compilation, CompileLog, ProgramLine
from traceq.loading.sources import split_duplicates
from traceq.loading.staging import add_note, insert_fitting

# Of logs without a trace.
ALONE = 0
TABLES = ("compile_log", "compilation", "compile_phase", "graph_break", "recompilation", "compile_cache")

_INT, _TEXT, _BOOL = pa.int64(), pa.string(), pa.bool_()
_SCHEMAS = {
    "compile_log": {
        "file": _TEXT, "version": _TEXT, "pid": _INT, "rank": _INT, "first_at": _INT, "last_at": _INT, "is_placed": _BOOL,
        "placement": _TEXT, "lines": _INT, "records": _INT, "lines_left_out": _INT,
    },
    "compilation": {
        "compile_id": _TEXT, "frame_id": _INT, "frame_compile_id": _INT, "function": _TEXT, "file": _TEXT, "line": _INT,
        "stack": _TEXT, "begin_at": _INT, "ts": _INT, "dur": _INT, "backend_ns": _INT, "inductor_ns": _INT,
        "code_gen_ns": _INT, "restart_ns": _INT, "overhead_ns": _INT, "attempts": _INT, "guards": _INT, "operators": _INT,
        "nodes": _INT, "inputs": _INT, "cache_entries": _INT, "has_code": _BOOL, "fail_type": _TEXT, "fail_reason": _TEXT,
        "is_refused": _BOOL, "restart_reasons": _TEXT,
    },
    "compile_phase": {
        "phase_id": _INT, "parent_id": _INT, "depth": _INT, "compile_id": _TEXT, "name": _TEXT, "begin_at": _INT, "ts": _INT,
        "dur": _INT,
    },
    "graph_break": {
        "break_id": _INT, "compile_id": _TEXT, "attempt": _INT, "file": _TEXT, "line": _INT, "function": _TEXT, "code": _TEXT,
        "frame_line": _INT, "inside": _TEXT, "kind": _TEXT, "reason": _TEXT, "hint": _TEXT,
        "context": _TEXT, "stack": _TEXT, "broken_at": _INT,
        "skips_function": _BOOL, "is_logged": _BOOL,
    },
    "recompilation": {
        "compile_id": _TEXT, "failed_id": _TEXT, "is_latest": _BOOL, "guard": _TEXT, "kind": _TEXT, "source": _TEXT,
        "expected": _TEXT, "actual": _TEXT, "file": _TEXT, "line": _INT, "code": _TEXT, "failed_at": _INT,
    },
    "compile_cache": {
        "compile_id": _TEXT, "cache": _TEXT, "outcome": _TEXT, "key": _TEXT, "reason": _TEXT, "looked_at": _INT,
    },
}  # fmt: skip


class CompilePlacement(NamedTuple):
    """The conversion of a log's times to the trace's clock: `add` ns, None where they do not convert; `words` say why."""

    add: int | None
    words: str


class _TraceOfLogs(NamedTuple):
    """The marks by which a log is known as a trace's: UTC at 0 (ns), extent (ns), processes, and rank of the trace."""

    origin: int | None
    since: int
    until: int
    pids: frozenset[int]
    rank: int | None


def list_compile_logs(given: Sequence[str | Path]) -> list[Path]:
    """Return the structured logs that `given` names: files, and those in folders.

    Raises UnusableTrace for a name without a file, and for a file of something else; NoTraces for a folder without one.
    """
    found: dict[Path, None] = {}
    for path in map(Path, given):
        if not path.exists():
            raise UnusableTrace(f"{path}: no such file{way_out(path)}")
        if path.is_dir():
            logs = list(find_compile_logs(path))
            if not logs:
                raise NoTraces(
                    f"{path}: no file here is a structured log of torch.compile; the program writes them into the folder"
                    " that the environment variable TORCH_TRACE names"
                )
            found |= dict.fromkeys(logs)
        elif is_compile_log(path):
            found[path] = None
        else:
            raise UnusableTrace(
                f"{path}: not a structured log of torch.compile; run the program with TORCH_TRACE=DIR and name DIR"
            )
    return list(found)


def stage_compile_logs(connection: duckdb.DuckDBPyConnection, logs: Sequence[Path], offset: float | None) -> None:
    """Insert what those of `logs` say that are of torch.compile into the staged tables, with a note on each.

    `offset` are the seconds to add to their times (None: not given). Raises UnusableTrace for one that holds nothing.
    """
    paths, twice = split_duplicates([log for log in logs if is_compile_log(log)])
    if not paths:
        return
    trace = _describe_trace(connection)
    read = [(path, read_compile_log(path)) for path in paths]
    for number, (path, log) in enumerate(read):
        placed = place_log(log, trace, offset, is_only=len(_with_work(read)) == 1)
        for table, rows in build_rows(ALONE, number, path, log, placed).items():
            if rows.num_rows:
                insert_fitting(connection, table, rows.drop_columns(["trace_id"]))
        _note_log(connection, path, log, placed)
    for path, first in twice:
        add_note(connection, "info", "given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")


def insert_compile_logs(connection: duckdb.DuckDBPyConnection, logs: Sequence[Path]) -> list[str]:
    """Insert what the logs say into the tables, as logs without a trace; return notes for the user.

    Raises UnusableTrace for one that holds nothing.
    """
    paths, twice = split_duplicates(logs)
    notes = [f"{path.name} is identical to {first.name}, and counts once" for path, first in twice]
    for number, path in enumerate(paths):
        log = read_compile_log(path)
        for table, rows in build_rows(ALONE, number, path, log, None).items():
            connection.register("_rows", rows)
            connection.execute(f"insert into {table} by name from _rows")
            connection.unregister("_rows")
        if left_out := describe_left_out(log):
            notes.append(f"{path.name}: {left_out}")
    return notes


def describe_left_out(log: CompileLog) -> str:
    """Return words on the lines of a log that could not be read, "" where there are none."""
    words = {
        "foreign": "of something else",
        "damaged": "damaged, cut, or with another payload than they name",
        "too_long": "too long",
    }
    counted = [f"{count:,} {words[what]}" for what, count in sorted(log.left_out.items()) if count]
    return f"lines left out: {', '.join(counted)}" if counted else ""


def _with_work(logs: Sequence[tuple[Path, CompileLog]]) -> list[CompileLog]:
    """Return the logs that tell of a compilation: workers of the compiler write logs without any."""
    return [log for _, log in logs if log.compilations]


def _describe_trace(connection: duckdb.DuckDBPyConnection) -> _TraceOfLogs:
    """Return what the staged trace says of its clock, its processes and its rank."""
    ((origin, rank),) = connection.execute("select max(utc_origin_ns), max(rank) from staging.trace").fetchall()
    ((since, until),) = connection.execute(
        "select min(ts), max(ts + dur) from"
        " (select ts, dur from staging.cpu_slice union all select ts, dur from staging.gpu_slice)"
    ).fetchall()
    pids = connection.execute("select distinct pid from staging.thread where pid is not null").fetchall()
    return _TraceOfLogs(origin, since or 0, until or 0, frozenset(pid for (pid,) in pids), rank)


def place_log(log: CompileLog, trace: _TraceOfLogs, offset: float | None, *, is_only: bool) -> CompilePlacement:
    """Return how the log's times convert to the trace's clock: both count from 1970, UTC.

    A log of another process, or of another time, is not placed. `is_only`: no other log tells of compilations.
    """
    if log.first_at is None or log.last_at is None:
        return CompilePlacement(None, "it tells of no compilation")
    if trace.origin is None and offset is None:
        return CompilePlacement(None, "the trace does not say when it was recorded: give --offset")
    add = round((offset or 0) * 1e9) - (trace.origin or 0)
    overlaps = log.first_at + add <= trace.until and log.last_at + add >= trace.since
    same_process = log.process is not None and log.process in trace.pids
    has_ranks = log.rank is not None and trace.rank is not None
    # other machines and containers count processes alike
    is_of_trace = log.rank == trace.rank if has_ranks else same_process or (overlaps and is_only)
    if is_of_trace:
        whose = (
            "its process is in the trace"
            if same_process
            else f"it is of rank {log.rank}, as the trace"
            if has_ranks
            else "it alone tells of compilations at that time"
        )
        return CompilePlacement(add, f"{whose}, and its times are UTC")
    if has_ranks:
        return CompilePlacement(None, f"it is of rank {log.rank}, the trace of rank {trace.rank}")
    why = "several logs are of its time" if overlaps else "the trace was recorded at another time"
    return CompilePlacement(None, f"its process {log.process} is not in the trace, and {why}")


def _note_log(connection: duckdb.DuckDBPyConnection, path: Path, log: CompileLog, placed: CompilePlacement) -> None:
    """Add notes that say whether a log was placed, and what of it could not be read."""
    said = f"{path.name}, a log of torch.compile: {some(len(log.compilations), 'compilation')}; "
    said += placed.words if placed.add is not None else f"not placed in time: {placed.words}"
    lost = placed.add is None and bool(log.compilations)
    add_note(connection, "data_loss" if lost else "info", "compile_log", max(1, len(log.compilations)), said)
    if left_out := describe_left_out(log):
        add_note(
            connection, "data_loss", "compile_log_left_out", sum(log.left_out.values()), f"{path.name}: {left_out}"
        )


def build_rows(
    trace_id: int, number: int, path: Path, log: CompileLog, placed: CompilePlacement | None
) -> dict[str, pa.Table]:
    """Return the rows of one log by table; `placed` is None for logs without a trace."""
    add = placed.add if placed is not None else None
    about = {
        "file": path.name, "version": log.version, "pid": log.process, "rank": log.rank, "first_at": log.first_at,
        "last_at": log.last_at, "is_placed": None if placed is None else add is not None,
        "placement": None if placed is None else placed.words, "lines": log.lines, "records": log.records,
        "lines_left_out": sum(log.left_out.values()),
    }  # fmt: skip
    refused = _find_refused(log)
    latest: set[str] = set()
    recompilations = []
    for entry in log.recompilations:
        recompilations.append(
            {
                "compile_id": entry.compile_id, "failed_id": entry.failed_id, "is_latest": entry.compile_id not in latest,
                "guard": entry.guard, "kind": entry.kind, "source": entry.source, "expected": entry.expected,
                "actual": entry.actual, "failed_at": entry.at_ns, **_place_columns(entry.place, with_function=False),
            }
        )  # fmt: skip
        latest.add(entry.compile_id)
    rows: dict[str, list[dict[str, Any]]] = {
        "compile_log": [about],
        "compilation": [_compilation_row(entry, add, refused) for entry in log.compilations],
        "compile_phase": [
            {
                "phase_id": place, "parent_id": entry.parent, "depth": entry.depth, "compile_id": entry.compile_id,
                "name": entry.name, "begin_at": entry.begin_at, "ts": _shift_time(entry.begin_at, add), "dur": entry.dur,
            }
            for place, entry in enumerate(log.phases)
        ],
        "graph_break": [
            {
                "break_id": place, "compile_id": entry.compile_id, "attempt": entry.attempt, "kind": entry.kind,
                "frame_line": entry.frame_line, "inside": entry.inside,
                "reason": entry.reason, "hint": entry.hint, "context": entry.context, "stack": entry.stack,
                "broken_at": entry.at_ns, "skips_function": entry.skips_function, "is_logged": entry.is_from_log,
                **_place_columns(entry.place),
            }
            for place, entry in enumerate(log.graph_breaks)
        ],
        "recompilation": recompilations,
        "compile_cache": [
            {
                "compile_id": entry.compile_id, "cache": entry.cache, "outcome": entry.outcome, "key": entry.key,
                "reason": entry.reason, "looked_at": entry.at_ns,
            }
            for entry in log.cache_events
        ],
    }  # fmt: skip
    return {table: _build_table(trace_id, number, table, rows[table]) for table in TABLES}


def _build_table(trace_id: int, number: int, table: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows of a table, with the numbers of trace and log in front."""
    keys = {"trace_id": [trace_id] * len(rows), "log_id": [number] * len(rows)}
    columns = {name: [_clean_text(row.get(name)) for row in rows] for name in _SCHEMAS[table]}
    schema = pa.schema([("trace_id", pa.int32()), ("log_id", pa.int32()), *_SCHEMAS[table].items()])
    return pa.table({**keys, **columns}, schema=schema)


def _clean_text(value: Any) -> Any:
    """Return the value, a text without the halves of characters that a damaged JSON may have."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _compilation_row(entry: Compilation, add: int | None, refused: frozenset[str]) -> dict[str, Any]:
    """Return the row of a compilation."""
    same = (
        "compile_id", "frame_id", "frame_compile_id", "stack", "begin_at", "dur", "backend_ns", "inductor_ns", "code_gen_ns",
        "restart_ns", "overhead_ns", "attempts", "guards", "operators", "nodes", "inputs", "cache_entries", "has_code",
        "fail_type", "fail_reason",
    )  # fmt: skip
    return {
        **{name: getattr(entry, name) for name in same},
        **_place_columns(entry.place, with_code=False),
        "ts": _shift_time(entry.begin_at, add),
        "is_refused": entry.compile_id in refused,
        "restart_reasons": "\n".join(entry.restart_reasons) or None,
    }


def _find_refused(log: CompileLog) -> frozenset[str]:
    """Return the compilations that PyTorch refused: a guard failed, and no compilation began, or it failed for the limit."""
    failed = {entry.compile_id for entry in log.recompilations}
    return frozenset(
        entry.compile_id
        for entry in log.compilations
        if (entry.compile_id in failed and entry.stack is None and entry.has_code is None and entry.operators is None)
        or "recompile limit" in (entry.fail_reason or "").lower()
        or "cache_size_limit" in (entry.fail_reason or "")
    )


def _place_columns(place: ProgramLine, *, with_function: bool = True, with_code: bool = True) -> dict[str, Any]:
    """Return the columns of a place."""
    columns: dict[str, Any] = {"file": place.file, "line": place.line}
    columns |= {"function": place.function} if with_function else {}
    return columns | ({"code": place.code} if with_code else {})


def _shift_time(at_ns: int | None, add: int | None) -> int | None:
    """Return a time of the log on the trace's clock; None where one of both is not known."""
    return None if at_ns is None or add is None else at_ns + add
