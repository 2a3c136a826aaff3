"""The tables of a trace database in memory, filled without an ingest: by rows put straight into them, or by analyses."""

from __future__ import annotations

import atexit
import os
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import Phase, settings
from hypothesis import strategies as st

from traceq.analysis import order
from traceq.analysis.steps.choice import AS_FOUND, Choice
from traceq.database import sql
from traceq.database.connect import create_schema
from traceq.database.planning import disable_costly_optimizers
from traceq.database.tables import insert_rows, tables_of_traces

# Planning a query costs more than a few rows do: random worlds stand side by side in one database. To find the smallest world
# in which a test fails takes minutes then: with TRACEQ_WORLDS=1 in the environment each has a database of its own.
WORLDS = int(os.environ.get("TRACEQ_WORLDS", "10"))
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, *([Phase.shrink] if WORLDS == 1 else []))
a_hundred = settings(max_examples=100 // WORLDS, deadline=None, phases=_PHASES)


def worlds(world: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """As many of them as go into one database; with `a_hundred` a hundred of them are tried."""
    return st.lists(world, min_size=WORLDS, max_size=WORLDS)


# What analyses read from the staging area; all other rows of an importer are in their tables from the start.
_STAGED = ("cpu_slice", "gpu_slice", "collective", "thread_switch")
_FILE = {"path": "made-up.json", "sha256": "", "size_bytes": 0, "ingested_at": datetime.now(UTC)}


@cache
def _schema() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"asof_loop_join_threshold": "0"})
    disable_costly_optimizers(connection, rows=0)
    create_schema(connection)
    # A transaction may write to one database only: here the staging area is a schema.
    connection.execute("create schema staging")
    sql.run(connection, "loading/staging.sql")
    # Else DuckDB's module complains at the end that somebody still has it.
    atexit.register(_schema.cache_clear)
    return connection


def empty_tables() -> duckdb.DuckDBPyConnection:
    """A connection to every table and view and to the staging area, without rows.

    It is in a transaction that is never committed: nobody else sees what is put in.
    """
    connection = _schema().cursor()
    connection.begin()
    return connection


def insert(connection: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    """Put rows into the named columns, of trace 1 unless trace_id is one of them."""
    names = columns.split()
    found = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=False)))
    if found.num_columns:
        trace = "" if "trace_id" in names else "1 as trace_id, "
        connection.register("_rows", found)
        connection.execute(f"insert into {table} by name select {trace}* from _rows")
        connection.unregister("_rows")


def insert_row(connection: duckdb.DuckDBPyConnection, table: str, **columns: Any) -> None:
    """Put one row, of trace 1, into the table."""
    insert(connection, table, " ".join(columns), [list(columns.values())])


def filled(
    rows: Iterable[tuple[str, pa.RecordBatch]], *analyses: str, format_: str = "made up", choice: Choice = AS_FOUND
) -> duckdb.DuckDBPyConnection:
    """Tables in which an importer's rows are joined up and the analyses named have run, each with those before it in its
    topic."""
    state = order.AnalysisState(1, choice)
    connection = _joined(rows, format_, state)
    for topic in (*order.TOPICS, *order.NOTES):
        until = max((number for number, name in enumerate(topic.analyses, 1) if name in analyses), default=0)
        order.run(connection, topic.analyses[:until], state)
    return connection


def filled_as_by_ingest(
    rows: Iterable[tuple[str, pa.RecordBatch]],
    format_: str,
    trace_id: int = 1,
    without: Collection[str] = (),
    graphs: Sequence[Any] = (),
) -> duckdb.DuckDBPyConnection:
    """Tables in which an importer's rows are joined up and all analyses have run that an ingest would run, but for `without`;
    `graphs` are those of torch.compile."""
    state = order.AnalysisState(trace_id, compiled_graphs=graphs)
    connection = _joined(rows, format_, state)
    present = order._find_present(connection)
    for topic in (*order.TOPICS, *order.NOTES):
        if topic.needs is None or present[topic.needs]:
            order.run(connection, tuple(name for name in topic.analyses if name not in without), state)
    return connection


def put_together(connections: Sequence[duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
    """The first of the connections, to tables that have the traces of the others as well, which are closed."""
    first, *others = connections
    for other in others:
        for table in tables_of_traces(other):
            rows = other.table(table).to_arrow_table()
            if rows.num_rows:
                insert_rows(first, table, rows)
        other.close()
    return first


def _joined(
    rows: Iterable[tuple[str, pa.RecordBatch]], format_: str, state: order.AnalysisState
) -> duckdb.DuckDBPyConnection:
    """Tables with an importer's rows, joined up; `state` gets what later analyses need."""
    connection = empty_tables()
    for table, batch in rows:
        connection.register("_batch", pa.Table.from_batches([batch]))
        place, columns = (f"staging.{table}", "*") if table in _STAGED else (table, f"{state.trace_id} as trace_id, *")
        if table == "trace":
            columns += "".join(f", ${name} as {name}" for name in (*_FILE, "format"))
        file = _FILE | {"format": format_} if table == "trace" else None
        connection.execute(f"insert into {place} by name select {columns} from _batch", file)
        connection.unregister("_batch")
    for topic in order.JOINED:
        order.run(connection, topic.analyses, state)
    return connection
