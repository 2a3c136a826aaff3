"""Charges stalls with the idle time of GPUs after a launching thread stood still, until the host is ahead again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traceq.analysis.ledger.host_debt import find_debts
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb


def fill_stall_debt(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Add to stall_cost the idle gaps that the host comes late to after a stall, charged to the stall.

    A stall is charged for no longer than the GPU had work while it lasted.
    """
    found_debt = find_debts(connection, statement("analysis/stalls/stall_debt_event.sql"), "stall_id")
    if not found_debt.num_rows:
        return
    connection.register("found_debt", found_debt)
    run(connection, "analysis/stalls/stall_debt.sql", trace_id=trace_id)
    connection.unregister("found_debt")
