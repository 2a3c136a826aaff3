"""Fills the tables about records of collectives."""

from __future__ import annotations

import duckdb

from traceq.analysis.inspected.slow_links import fill_slow_links
from traceq.database import sql

_OF_RECORDS = (
    "inspected/inspected_collective",
    "inspected/inspected_tables",
    "inspected/link_period",
)
_WITH_TRACE = ("inspected/inspected_owner", "inspected/inspected_usual")


def fill_inspected(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the tables about records of collectives from the staged ones, and find slow links."""
    for name in _OF_RECORDS:
        sql.run(connection, f"analysis/{name}.sql", trace_id=trace_id)
    fill_slow_links(connection, trace_id)


def compare_with_trace(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Find the process of the only trace of the database among the records, and compare its collectives with them.

    Operations of other processes are deleted, where its own is known.
    """
    for name in _WITH_TRACE:
        sql.run(connection, f"analysis/{name}.sql", trace_id=trace_id)
