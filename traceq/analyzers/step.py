"""Finding the training steps of a trace: the ways of docs/metrics.md, most reliable first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.analyzers.recurrence import recurring_sequence
from traceq.sql import run, statement

if TYPE_CHECKING:
    import duckdb


def find_steps(connection: duckdb.DuckDBPyConnection, trace_id: int, step_range: str | None = None) -> str | None:
    """Fill table step, from annotations whose name matches the regular expression `step_range` when one is given.

    Returns the source used (step.source), or None when the trace has no slices at all. An unmatched `step_range` falls
    back to the other sources: the caller compares.
    """
    source = _mark_steps(connection, step_range)
    run(connection, "analyzers/step.sql", trace_id=trace_id)
    return source


def _mark_steps(connection: duckdb.DuckDBPyConnection, step_range: str | None) -> str | None:
    """Fill the temporary table _step_mark from the first source that finds any."""
    ways: list[tuple[str, str, dict[str, str]]] = [
        ("mark", "step_marked", {"pattern": r"^traceq\.step#\d+$"}),
        ("profiler_step", "step_marked", {"pattern": r"^ProfilerStep#\d+"}),
        ("annotation", "step_repeated", {}),
        ("optimizer", "step_optimizer", {}),
        ("recurrence", "step_launches", {}),
        ("whole_trace", "step_whole_trace", {}),
    ]
    if step_range is not None:
        ways.insert(0, ("step_range", "step_marked", {"pattern": step_range}))
    connection.execute(
        "create or replace temp table _step_mark"
        " (name varchar, thread_id integer, ts bigint, own_end bigint, source varchar)"
    )
    for source, file, parameters in ways:
        found = connection.sql(statement(f"analyzers/{file}.sql"), params=parameters)
        marks = _recurring(found) if source == "recurrence" else found.fetchall()
        if marks:
            connection.executemany("insert into _step_mark values (?, ?, ?, ?, ?)", [(*mark, source) for mark in marks])
            return source
    return None


def _recurring(launches: duckdb.DuckDBPyRelation) -> list[tuple[str, int, int, int]]:
    """Marks (name, thread, start, end) around the sequence of launches that recurs, if one does."""
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
