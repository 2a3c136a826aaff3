"""Execution traces beside a trace: read, joined with its operators, and staged as execution_trace and operator_dependency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from traceq.common.units import count, some
from traceq.database import sql
from traceq.importers.execution_trace.dependencies import find_dependencies
from traceq.importers.execution_trace.reading import ExecutionTrace, is_execution_trace, read_execution_trace
from traceq.loading.sources import split_duplicates
from traceq.loading.staging import add_note, insert_fitting


def stage_execution_traces(connection: duckdb.DuckDBPyConnection, logs: Sequence[Path]) -> None:
    """Insert what those of `logs` say that are execution traces into the staged tables, with a note on each.

    Raises UnusableTrace for one that is damaged.
    """
    paths, twice = split_duplicates([log for log in logs if is_execution_trace(log)])
    for path in paths:
        _stage_trace(connection, path, read_execution_trace(path))
    for path, first in twice:
        add_note(connection, "info", "given_twice", 1, f"{path.name} is identical to {first.name}, and counts once")


def _stage_trace(connection: duckdb.DuckDBPyConnection, path: Path, trace: ExecutionTrace) -> None:
    """Insert the dependencies of one execution trace, between operators of the staged trace of its process."""
    operators = [operator for operator in trace.operators if operator.schema]
    dependencies = find_dependencies(trace)
    nodes = pa.table(
        {
            "node": pa.array([operator.node for operator in operators], pa.int64()),
            "record_id": pa.array([operator.record_id for operator in operators], pa.int64()),
            "name": pa.array([operator.name for operator in operators], pa.string()),
        }
    )
    edges = pa.table(
        {
            name: pa.array([getattr(one, name) for one in dependencies], kind)
            for name, kind in (
                ("reader", pa.int64()), ("writer", pa.int64()), ("kind", pa.string()), ("size", pa.int64())
            )
        }
    )  # fmt: skip
    connection.register("_executed_node", nodes)
    connection.register("_executed_edge", edges)
    sql.run(connection, "loading/executed_operators.sql", pid=trace.pid)
    found = connection.sql("from _executed_dependency").to_arrow_table()
    ((matched,),) = connection.execute("select count(*) from _executed_operator").fetchall()
    connection.unregister("_executed_node")
    connection.unregister("_executed_edge")
    connection.execute("drop table _executed_dependency; drop table _executed_operator")
    about = {
        "file": path.name,
        "schema_version": trace.schema,
        "operators": len(operators),
        "matched": matched,
        "dependencies": len(dependencies),
    }
    insert_fitting(connection, "execution_trace", pa.Table.from_pylist([about]))
    if found.num_rows:
        insert_fitting(connection, "operator_dependency", found)
    said = f"{path.name}, an execution trace: {count(matched)} of {some(len(operators), 'operator')} are in the trace"
    if matched:
        said += f", with {count(found.num_rows)} of {count(len(dependencies))} dependencies"
        add_note(connection, "info", "execution_trace", matched, said)
    else:
        said += "; record both at once: torch.profiler.profile(execution_trace_observer=...) (docs/execution-traces.md)"
        add_note(connection, "data_loss", "execution_trace", 1, said)
