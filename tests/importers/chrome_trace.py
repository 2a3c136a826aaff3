"""Tiny Chrome traces for tests: events are dicts or JSON text, times microseconds; rows come back by table, in ns."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from traceq.importers import chrome

PID = TID = 100

Tables = dict[str, list[dict[str, Any]]]


def make_event(category: str | None, name: Any, ts: Any, dur: Any, args: Any = None, **members: Any) -> dict[str, Any]:
    """A complete event on the main thread; `members` replace the usual ones (pid, tid, ph)."""
    event = {"ph": "X", "cat": category, "name": name, "pid": PID, "tid": TID, "ts": ts, "dur": dur, "args": args}
    return {key: value for key, value in (event | members).items() if value is not None}


def make_op(name: str, ts: Any, dur: Any, args: Any = None, **members: Any) -> dict[str, Any]:
    return make_event("cpu_op", name, ts, dur, args, **members)


def make_kernel(name: str, ts: Any, dur: Any, args: Any = None, **members: Any) -> dict[str, Any]:
    """A kernel on stream 7 of device 0."""
    return make_event(
        "kernel", name, ts, dur, {"device": 0, "stream": 7} | (args or {}), **{"pid": 0, "tid": 7} | members
    )


def name_of(kind: str, name: str, pid: Any = PID, tid: Any = TID) -> dict[str, Any]:
    """An M event: kind is process_name or thread_name."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def render_text(
    *events: dict[str, Any] | str, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> str:
    """A whole trace: members of the object before and after the list of events."""
    listed = ",\n".join(each if isinstance(each, str) else json.dumps(each) for each in events)
    first = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in (before or {}).items())
    last = "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in (after or {}).items())
    return f'{{{first}"traceEvents": [\n{listed}\n]{last}}}'


def write(folder: Path, *events: dict[str, Any] | str, **around: Any) -> Path:
    """A trace file with these events."""
    return write_text(folder, render_text(*events, **around))


def write_text(folder: Path, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_tables(path: Path, progress: Callable[[int], None] = lambda _: None, jobs: int = 1) -> Tables:
    """All rows the importer yields, by table."""
    tables = defaultdict(list)
    for table, batch in chrome.read(path, progress, jobs):
        batch.validate(full=True)
        tables[table] += batch.to_pylist()
    return tables


def tables_of(folder: Path, *events: dict[str, Any] | str, **around: Any) -> Tables:
    """Write a trace with these events and read it."""
    return read_tables(write(folder, *events, **around))


def pick_columns(rows: list[dict[str, Any]], columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the rows, as tuples; None where the importer left a column out."""
    return [tuple(row.get(column) for column in columns.split()) for row in rows]


def count_notes(tables: Tables) -> dict[str, int]:
    """Counts of the notes by code."""
    return {row["code"]: row["count"] for row in tables["import_note"]}


def args_of(row: dict[str, Any]) -> Any:
    """The args column of a row, decoded."""
    return None if row["args"] is None else json.loads(row["args"])
