"""The analyses of a trace: which there are, in what order they run, and what each needs to have anything to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import duckdb

from traceq import sql
from traceq.analyzers.host_piece import cut_intervals
from traceq.analyzers.replayed import fill_replay


class Topic(NamedTuple):
    """Analyses that run one after another; `needs` is a column of present.sql, None where there is always something to say."""

    needs: str | None
    analyses: tuple[str, ...]


TOPICS = (
    Topic(
        None,
        (
            "device_activity",
            "host_slice",
            "host_timeline",
            "stream_wait",
            "idle_interval",
            "host_piece",
            "idle_second_look",
            "host_piece",
            "idle_overhead",
            "host_piece",
            "idle_gap",
            "time_ledger",
            "host_ledger_interval",
            "host_piece",
            "host_ledger",
            "launch_state",
        ),
    ),
    Topic("copies", ("copy_call", "copy_time", "copy_position", "copy_return", "copy_overlap")),
    Topic("unified_memory", ("copy_unified_memory",)),
    Topic(
        None,
        (
            "data_interval",
            "host_piece",
            "data_part",
            "data_fetch",
            "data_worker_interval",
            "host_piece",
            "data_part",
            "data_worker",
            "data_copy",
            "data_stall",
        ),
    ),
    Topic("samples", ("memory_timeline", "memory_step")),
    Topic("calls", ("allocator_call",)),
    Topic("communication", ("collective_issued", "collective_shapes", "collective_wait", "collective_slice")),
    Topic(None, ("communication_overlap",)),
    Topic("kernels", ("kernel_family", "kernel_occupancy")),
    Topic("shapes", ("operator_shape", "operator_work", "operator_cost")),
    Topic(None, ("step_stats", "missing_input", "replay")),
)

# What SQL alone cannot say well.
_IN_PYTHON: dict[str, Callable[[duckdb.DuckDBPyConnection, int], None]] = {
    "host_piece": lambda connection, _trace_id: cut_intervals(connection),
    "replay": fill_replay,
}


def analyse(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the analyses' tables. Planning a query costs milliseconds even where it finds nothing, so topics may be left out."""
    found = connection.execute(sql.statement("analyzers/present.sql"))
    names = [column[0] for column in found.description]
    present = dict(zip(names, found.fetchone() or (), strict=True))
    for topic in TOPICS:
        if topic.needs is None or present[topic.needs]:
            try:
                _fill(connection, topic, trace_id)
            except duckdb.OutOfMemoryException:
                # One thread holds less at a time than several.
                connection.rollback()
                connection.execute("set threads = 1")
                _fill(connection, topic, trace_id)


def _fill(connection: duckdb.DuckDBPyConnection, topic: Topic, trace_id: int) -> None:
    # A transaction each: what is not committed stays in memory.
    connection.begin()
    run(connection, topic.analyses, trace_id)
    connection.commit()


def run(connection: duckdb.DuckDBPyConnection, analyses: tuple[str, ...], trace_id: int) -> None:
    """Run `analyses` in the order given, which must be that of TOPICS."""
    for name in analyses:
        if name in _IN_PYTHON:
            _IN_PYTHON[name](connection, trace_id)
        else:
            sql.run(connection, f"analyzers/{name}.sql", trace_id=trace_id)
