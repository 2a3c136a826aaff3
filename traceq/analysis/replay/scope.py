"""Makes an open database look as it does during an ingest: the tables of one trace, and the temp tables that replays read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from traceq.analysis.ledger.host_timeline import fill_host_timeline
from traceq.database.sql import parsed, run, statement

if TYPE_CHECKING:
    import duckdb

# Every table and view that the SQL of this folder reads.
_READ = (
    "cpu_slice",
    "gpu_slice",
    "thread",
    "thread_state",
    "cpu_sample",
    "host_name",
    "synchronization",
    "cuda_event",
    "stream_wait",
    "step",
    "idle_gap",
    "idle_gap_cause",
    "idle_piece",
    "time_ledger",
    "data_fetch",
    "collective_slice",
    "host_stall",
    "stall_cost",
    "critical_path",
)
# Temp tables that other analyses make on their way, and the file in which each is defined.
_DEFINED_IN = {
    "_event_recorded": "analysis/ledger/stream_wait.sql",
    "_training_thread": "analysis/ledger/idle_interval.sql",
    "_idle_cause": "analysis/ledger/idle_gap_cause.sql",
}


def scope(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Let unqualified names of tables mean the rows of one trace, by temp views, and make what replays read beside them.

    Slices that do not nest count as they were recorded: how an ingest cut them is not kept.
    """
    catalog = connection.execute("select current_database()").fetchone()
    for name in _READ:
        connection.execute(
            f'create or replace temp view {name} as select * from "{catalog[0] if catalog else ""}".main.{name}'  # noqa: S608 - names of ours
            f" where trace_id = {int(trace_id)}"
        )
    connection.execute("create or replace temp table _slice_cut (slice_id bigint, ts_end bigint)")
    connection.execute("create or replace temp table _slice_outlasting (slice_id bigint, inside bigint, depth bigint)")
    connection.execute("create or replace temp table _slice_ended_under (slice_id bigint)")
    for table, file in _DEFINED_IN.items():
        connection.execute(f"drop table if exists temp.{table}")
        connection.execute(_temp_table_definition(file, table))
    for name in (
        "_graph_node",
        "_phase_interval",
        "_host_slice",
        "_host_running",
        "_thread_without_python",
    ):
        connection.execute(f"drop table if exists temp.{name}")
    for name in ("phase_interval", "host_slice", "host_running"):
        run(connection, f"analysis/ledger/{name}.sql")
    fill_host_timeline(connection)


def _temp_table_definition(file: str, table: str) -> duckdb.Statement:
    """Return the only statement of an SQL file that creates the temp table `table`.

    Whether the text of a statement has the comments before it depends on DuckDB's version.
    """
    begins = re.compile(rf"^create temp table {table}\b", re.MULTILINE)
    (found,) = (each for each in parsed(statement(file)) if begins.search(each.query))
    return found
