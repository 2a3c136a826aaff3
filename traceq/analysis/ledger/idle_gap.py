"""The rows of idle_gap, some millions at a time: joining and sorting all gaps of a large trace at once ended out of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.database import sql

if TYPE_CHECKING:
    import duckdb

_GAPS_AT_ONCE = 2_000_000


def fill_gaps(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the tables wait_debt and idle_gap of a trace; idle_gap some millions of gaps at a time, to spare memory."""
    sql.run(connection, "analysis/ledger/idle_gap.sql", trace_id=trace_id)
    ((gaps,),) = connection.execute("select coalesce(max(gap_id) + 1, 0) from _gap").fetchall()
    for first in range(0, gaps, _GAPS_AT_ONCE):
        window = {"first": first, "last": first + _GAPS_AT_ONCE}
        sql.run(connection, "analysis/ledger/idle_gap_rows.sql", trace_id=trace_id, **window)
