"""Finding the training steps of a trace: the ways of docs/metrics.md, most reliable first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from traceq.analysis.steps.recurrence import recurring_sequence
from traceq.analysis.steps.recurring_communication import recurring_communication
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb

    # Name, thread, start and end.
    Mark = tuple[str, int | None, int, int]


# Of _step_mark.
_COLUMNS = {"name": pa.string(), "thread_id": pa.int32(), "ts": pa.int64(), "own_end": pa.int64()}


class _Way(NamedTuple):
    """A way to find steps: the source it is called, the query and its parameters, and what makes marks of its rows."""

    source: str
    file: str
    parameters: dict[str, Any]
    marks: Callable[[duckdb.DuckDBPyRelation], list[Mark]]


def find_steps(connection: duckdb.DuckDBPyConnection, trace_id: int, step_range: str | None = None) -> str | None:
    """Fill table step, from annotations whose name matches the regular expression `step_range` when one is given.

    Returns the source used (step.source), or None when the trace has no slices at all. An unmatched `step_range` falls
    back to the other sources: the caller compares.
    """
    source = _mark_steps(connection, step_range)
    run(connection, "analysis/steps/step.sql", trace_id=trace_id)
    return source


def _mark_steps(connection: duckdb.DuckDBPyConnection, step_range: str | None) -> str | None:
    """Fill the temporary table _step_mark from the first source that finds any."""
    ways = [
        _Way("mark", "step_marked", {"pattern": r"^traceq\.step#\d+$"}, _as_they_are),
        _Way("profiler_step", "step_marked", {"pattern": r"^ProfilerStep#\d+"}, _as_they_are),
        _Way("annotation", "step_repeated", {}, _as_they_are),
        _Way("optimizer", "step_optimizer", {}, _as_they_are),
        _Way("recurrence", "step_launches", {"communication": False}, _around_launches),
        _Way("recurrence", "step_launches", {"communication": True}, _between_communication),
        _Way("whole_trace", "step_whole_trace", {}, _as_they_are),
    ]
    if step_range is not None:
        ways.insert(0, _Way("step_range", "step_marked", {"pattern": step_range}, _as_they_are))
    connection.execute(
        "create or replace temp table _step_mark"
        " (name varchar, thread_id integer, ts bigint, own_end bigint, source varchar)"
    )
    for source, file, parameters, read in ways:
        marks = read(connection.sql(statement(f"analysis/steps/{file}.sql"), params=parameters))
        if marks:
            _keep(connection, marks, source)
            return source
    return None


def _keep(connection: duckdb.DuckDBPyConnection, marks: list[Mark], source: str) -> None:
    columns = zip(*marks, strict=True)
    found = pa.table([pa.array(*each) for each in zip(columns, _COLUMNS.values(), strict=True)], [*_COLUMNS])
    connection.register("_found_mark", found)
    connection.execute(
        "insert into _step_mark by name select *, $source as source from _found_mark", {"source": source}
    )
    connection.unregister("_found_mark")


def _as_they_are(marks: duckdb.DuckDBPyRelation) -> list[Mark]:
    return marks.fetchall()


def _around_launches(launches: duckdb.DuckDBPyRelation) -> list[Mark]:
    """Marks around the sequence of launches that recurs, if one does."""
    rows = launches.to_arrow_table()
    recurrence = recurring_sequence(rows["number"].to_numpy())
    if recurrence is None:
        return []
    name = f"sequence of {recurrence.length} launches"
    firsts = rows.take(recurrence.starts)
    ends = rows["ts_end"].take([start + recurrence.length - 1 for start in recurrence.starts])
    return [
        (name, *mark)
        for mark in zip(firsts["thread_id"].to_pylist(), firsts["ts"].to_pylist(), ends.to_pylist(), strict=True)
    ]


def _between_communication(communication: duckdb.DuckDBPyRelation) -> list[Mark]:
    """Marks from the end of one recurring sequence of communication to the end of the next.

    What lies before the first and after the last is no complete step.
    """
    rows = communication.to_arrow_table()
    found = recurring_communication(*(rows[column].to_numpy() for column in ("number", "ts", "ts_end")))
    if found is None:
        return []
    name = f"after a sequence of {found.length} collectives"
    ends = rows.take(found.ends)
    borders = zip(ends["thread_id"].to_pylist(), ends["ts_end"].to_pylist(), strict=True)
    return [(name, thread, ts, next_ts) for (thread, ts), (_, next_ts) in pairwise(borders)]
