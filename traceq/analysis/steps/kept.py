"""The steps of a trace that was cut out of a larger one: they are those of the whole, also where one alone recurs no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from traceq.analysis.steps.level import Level
from traceq.analysis.steps.step_mark import Mark

if TYPE_CHECKING:
    import duckdb

_SAID = "select args ->> '$.traceq.trim' from trace where trace_id = $1"
_THREADS = "select coalesce(pid::varchar, process_name), coalesce(tid::varchar, thread_name), thread_id from thread"


class Kept(NamedTuple):
    """The steps that `traceq trim` wrote down, and whether more followed: then the last one ends where the next began."""

    level: Level
    is_followed: bool


def kept_steps(connection: duckdb.DuckDBPyConnection, trace_id: int) -> Kept | None:
    """Return how the trace was trimmed, as it says itself; None where it was not, or the record makes no sense."""
    row = connection.execute(_SAID, [trace_id]).fetchone()
    try:
        said = json.loads(row[0]) if row and row[0] else None
        return None if said is None else _read(connection, said)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _read(connection: duckdb.DuckDBPyConnection, said: dict[str, Any]) -> Kept | None:
    threads = {(pid, tid): number for pid, tid, number in connection.execute(_THREADS).fetchall()}
    marks = [
        Mark(
            str(step["name"]),
            threads.get((step.get("pid"), step.get("tid"))),
            int(step["ts"]),
            int(step["ts_end"]),
            None if step.get("excluded") is None else str(step["excluded"]),
        )
        for step in said["steps"]
    ]
    if not marks or any(mark.own_end <= mark.ts for mark in marks):
        return None
    level = Level(
        source=str(said["source"]),
        name=str(said["unit"]),
        marks=sorted(marks, key=lambda mark: mark.ts),
        evidence="steps of the whole trace that this one was cut from",
        clock="gpu" if said.get("clock") == "gpu" else "host",
    )
    return Kept(level, bool(said.get("is_followed")))
