"""Fills the tables about records of collectives."""

from __future__ import annotations

import duckdb

from traceq.analysis.inspected.slow_links import fill_slow_links
from traceq.database import sql

_FILLED = ("communication/bus_factor", "inspected/inspected_collective", "inspected/inspected_tables", "inspected/link_period")


def fill_inspected(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the tables about records of collectives from the staged ones, and find slow links."""
    for name in _FILLED:
        sql.run(connection, f"analysis/{name}.sql", trace_id=trace_id)
    fill_slow_links(connection, trace_id)
