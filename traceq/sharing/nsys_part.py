"""A part of an nsys export: rows of its tables, as they are, that slices of the part were made of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.database.sql import run
from traceq.importers.nsys import host
from traceq.importers.sqlite import quote_name
from traceq.sharing.part import TracePart
from traceq.sharing.sqlite_file import Columns, SourceTable, copy_table, create_table, list_tables, open_copy

if TYPE_CHECKING:
    import duckdb


_GPU = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernel",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy",
    "CUPTI_ACTIVITY_KIND_MEMSET": "memset",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "graph",
}
_CALLS = frozenset(reader.table for reader in (*host.CALLS, *host.MPI_CALLS))
_EVENT, _SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_NVTX, _SAMPLES, _SWITCHES = "NVTX_EVENTS", "COMPOSITE_EVENTS", "SCHED_EVENTS"

# Call chains, and the table and column of what they are the chains of.
_CHAINS = {
    "SAMPLING_CALLCHAINS": (_SAMPLES, "id"),
    "CUDA_CALLCHAINS": ("CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId"),
    "OSRT_CALLCHAINS": ("OSRT_API", "callchainId"),
}

# Filled in order, where they need others: chains of what stays, recordings that waits name, strings that rows refer to.
_LATER = (*_CHAINS, _EVENT, "StringIds")

# They describe what is in the other tables, whenever that was, or are few.
_WHOLE = frozenset((
    "CUDA_GRAPH_EVENTS", "CUDA_GRAPH_NODE_EVENTS", "CUDA_GPU_MEMORY_POOL_EVENTS", "DIAGNOSTIC_EVENT",
    "ANALYSIS_DETAILS",
))  # fmt: skip

# Columns that hold ids of StringIds beside those whose names end in Id.
_STRINGS = frozenset((
    "module", "symbol", "srcFile", "funcName", "shortName", "mangledName", "demangledName", "varName", "taskName",
    "providerName", "kernelName", "description", "CpuInstruction", "name", "value",
))  # fmt: skip

# NVTX: names of categories, threads and domains; and what NCCL says when it makes a communicator.
_DESCRIPTIONS = "33, 39, 75, 76"

_KEYS = """
create temp table keep_call (tid integer, ts integer, primary key (tid, ts)) without rowid;
create temp table keep_gpu (kind text, ts integer, correlation integer, primary key (kind, ts, correlation)) without rowid;
create temp table keep_wait (ts integer, correlation integer, primary key (ts, correlation)) without rowid;
create temp table keep_event (correlation integer primary key);
create temp table keep_string (id integer primary key);
"""
_THREAD = "(coalesce(t.{column}, 0) & 281474976710655)"


def write_part(
    connection: duckdb.DuckDBPyConnection, source: Path, target: Path, trace_id: int, part: TracePart
) -> int:
    """Write the selected part of the nsys export at `source` to `target`; return its number of rows.

    The table _kept (sql/selection.sql) lists the slices that stay.
    """
    with open_copy(source, target, source) as files:
        _fill_keys(files, connection, trace_id)
        known = list_tables(files, (*_CHAINS, *_WHOLE))
        ordered = sorted(known, key=lambda name: _LATER.index(name) if name in _LATER else -1)
        values = {"ts": part.ts, "ts_end": part.ts_end}
        rows = 0
        for table in ordered:
            if table == "StringIds":
                _fill_strings(files, known)
            own, columns = known[table]
            condition = _select_rows(table, columns, known)
            rows += copy_table(files, table, columns, condition, values, source=own)
        create_table(files, "TRACEQ", {"value": ("TEXT", False, False)})
        files.execute("insert into TRACEQ values (?)", [part.as_text])
        return rows


def _fill_keys(files: sqlite3.Connection, connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill temporary tables of the new file with the keys of the calls, GPU work, waits and events of slices that stay."""
    files.executescript(_KEYS)
    files.execute("begin")
    for name, table in (("calls", "keep_call"), ("gpu", "keep_gpu"), ("waits", "keep_wait"), ("events", "keep_event")):
        cursor = run(connection, f"sharing/sql/nsys_{name}.sql", trace_id=trace_id)
        places = ", ".join("?" for _ in cursor.description or ())
        while rows := cursor.fetchmany(10_000):
            files.executemany(f"insert or ignore into temp.{table} values ({places})", rows)


def _select_rows(table: str, columns: Columns, known: dict[str, SourceTable]) -> str:
    """Return the SQL condition on rows (called t) of the table that stay in the part; `known` are all tables."""
    if table in _CALLS or table == _NVTX:
        return _select_calls(table, columns, known)
    if table in _GPU or table == _SYNCHRONIZATION:
        return _select_work(table, columns)
    if table in _CHAINS:
        return _select_chains(table, known)
    if table in (_SWITCHES, _SAMPLES) and {"start", "globalTid"} <= columns.keys():
        return _select_with_neighbours(known[table].own)
    others = {
        _EVENT: _select_events(columns, known),
        "CUDA_GPU_MEMORY_USAGE_EVENTS": "t.start < :ts_end",  # totals are sums from the start
        "StringIds": "t.id in (select id from temp.keep_string)",
        **dict.fromkeys(_WHOLE, "true"),
    }
    if table in others or table.startswith(("ENUM_", "TARGET_INFO_", "META_DATA_", "NVTX_PAYLOAD_")):
        return others.get(table, "true")
    return _select_overlapping(columns) if "start" in columns else _select_times(columns)


def _select_work(table: str, columns: Columns) -> str:
    """Return the SQL condition on rows of GPU work, or of waits for it, that stay in the part."""
    if not {"start", "end", "correlationId"} <= columns.keys():
        return _select_overlapping(columns) if "start" in columns else "true"
    place = "t.start, coalesce(t.correlationId, 0)"
    if table == _SYNCHRONIZATION:
        return f"{_select_overlapping(columns)} or ({place}) in (select ts, correlation from temp.keep_wait)"
    return f"{_select_overlapping(columns)} or ('{_GPU[table]}', {place}) in (select kind, ts, correlation from temp.keep_gpu)"


def _select_chains(table: str, known: dict[str, SourceTable]) -> str:
    """Return the SQL condition on call chains that samples or calls in the part refer to."""
    caller, column = _CHAINS[table]
    return f"t.id in (select {column} from main.{caller})" if column in _columns_of(caller, known) else "true"


def _columns_of(table: str, known: dict[str, SourceTable]) -> Columns:
    """Return the columns of a table of the source, none where there is no such table."""
    return known[table].columns if table in known else {}


def _select_calls(table: str, columns: Columns, known: dict[str, SourceTable]) -> str:
    """Return the SQL condition on rows of calls or NVTX events that stay: in the part, of slices that stay, or descriptions."""
    if not {"start", "end"} <= columns.keys():
        return "true"
    thread = _THREAD.format(column="globalTid") if "globalTid" in columns else "0"
    conditions = [_select_overlapping(columns), f"({thread}, t.start) in (select tid, ts from temp.keep_call)"]
    if table == _NVTX:
        # A range that was never closed lasts as long as the trace, which the last row of the table tells.
        conditions.append('t."end" is null and t.start < :ts_end')
        if "eventType" in columns:
            conditions.append(f"t.eventType in ({_DESCRIPTIONS})")
        if "text" in columns:
            conditions.append("t.text like 'ncclCommInit%'")
        if "textId" in columns and "StringIds" in known:
            strings = quote_name(known["StringIds"].own)
            conditions.append(f"t.textId in (select id from src.{strings} where value like 'ncclCommInit%')")
    return " or ".join(conditions)


def _select_events(columns: Columns, known: dict[str, SourceTable]) -> str:
    """Return the SQL condition on rows of CUDA events that stay: in the part, or named by slices or waits that stay."""
    conditions = ["t.correlationId in (select correlation from temp.keep_event)"] if "correlationId" in columns else []
    if "eventSyncId" in columns and "eventSyncId" in _columns_of(_SYNCHRONIZATION, known):
        conditions.append(f"t.eventSyncId in (select eventSyncId from main.{_SYNCHRONIZATION})")
    if "timestamp" in columns:
        conditions.append("t.timestamp >= :ts and t.timestamp < :ts_end")
    return " or ".join(conditions) or "true"


def _select_overlapping(columns: Columns) -> str:
    """Return the SQL condition on rows whose time overlaps the part; they have a start, and may have an end."""
    end = 'coalesce(t."end", t.start)' if "end" in columns else "t.start"
    return f"(t.start < :ts_end and ({end} > :ts or t.start = :ts))"


def _select_times(columns: Columns) -> str:
    """Return the SQL condition on rows whose timestamp is in the part; true for tables without one."""
    return "t.timestamp >= :ts and t.timestamp < :ts_end" if "timestamp" in columns else "true"


def _select_with_neighbours(own: str) -> str:
    """Return the SQL condition on rows that start within the part; `own` is the table's name in the source.

    Of each thread the two rows before the part and the two after it are included.
    """
    near = (
        "t.rowid in (select number from ("
        "select rowid as number, row_number() over (partition by globalTid order by start {order}) as place"
        " from src.{table} where start {side}) where place <= 2)"
    )
    before = near.format(order="desc", table=quote_name(own), side="< :ts")
    after = near.format(order="", table=quote_name(own), side=">= :ts_end")
    return f"(t.start >= :ts and t.start < :ts_end) or {before} or {after}"


def _fill_strings(files: sqlite3.Connection, known: dict[str, SourceTable]) -> None:
    """Collect the ids of strings that rows in the new file may refer to, in the temporary table keep_string.

    Other integers among them do no harm.
    """
    for table, (_, columns) in known.items():
        if table == "StringIds":
            continue
        for column in _string_columns(columns):
            files.execute(
                f"insert or ignore into temp.keep_string select {quote_name(column)} from main.{quote_name(table)}"
                f" where typeof({quote_name(column)}) = 'integer'"
            )


def _string_columns(columns: Columns) -> Iterable[str]:
    """Return the names of the columns that may hold ids of strings."""
    return [name for name in columns if name in _STRINGS or name.endswith(("Id", "NameId"))]
