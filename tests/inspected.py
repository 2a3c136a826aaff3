"""Records of collectives by hand: rows of the staged table become the tables about them, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa

from traceq.analysis.inspected.fill import fill_inspected
from traceq.database import sql
from traceq.importers.inspector.reading import make_record_batch


def record(rank: int, dur: int, **others: Any) -> dict[str, Any]:
    """An all-reduce of 64 MiB in a communicator of two ranks; `dur` in ns, the process is host h's with pid 100 + rank."""
    return {
        "file": 0, "host": "h", "pid": 100 + rank, "communicator": "c", "communicator_rank": rank, "group_size": 2, "nodes": 1,
        "op": "AllReduce", "sequence": 0, "message_bytes": 64 << 20, "dur": dur, "timing": "kernel_gpu", **others,
    }  # fmt: skip


def filled(records: Iterable[dict[str, Any]]) -> duckdb.DuckDBPyConnection:
    """A connection to the tables about these records, which are of trace 0."""
    connection = duckdb.connect()
    connection.execute("attach ':memory:' as staging")
    sql.run(connection, "database/bandwidth.sql")
    for name in ("tables", "views", "staged"):
        sql.run(connection, f"analysis/inspected/{name}.sql")
    connection.register("_records", pa.Table.from_batches([make_record_batch(list(records))]))
    connection.execute("insert into staging.inspected_record by name from _records")
    fill_inspected(connection, 0)
    return connection


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, in the order of its columns unless it says another."""
    return connection.execute(query if "order by" in query else f"{query} order by all").fetchall()
