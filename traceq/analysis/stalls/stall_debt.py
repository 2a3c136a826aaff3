"""What GPUs idle after a launching thread stood still, until the host is as far ahead as it had been."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from traceq.analysis.ledger.host_debt import Event, debts
from traceq.database.sql import run, statement

if TYPE_CHECKING:
    import duckdb


def fill_stall_debt(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Add to stall_cost the gaps that the host comes late to after a stall, for as long as the GPU had work during the stall."""
    query = statement("analysis/stalls/stall_debt_event.sql")
    owed = list(debts(map(Event._make, connection.sql(query).fetchall())))
    if not owed:
        return
    columns = {
        name: pa.array([each[place] for each in owed], pa.int64())
        for place, name in enumerate(("gap_id", "stall_id", "dur"))
    }
    found_debt = pa.table(columns)
    connection.register("found_debt", found_debt)
    run(connection, "analysis/stalls/stall_debt.sql", trace_id=trace_id)
    connection.unregister("found_debt")
