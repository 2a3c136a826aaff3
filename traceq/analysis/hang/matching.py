"""From the entries of many flight recorders to the places at which ranks differ."""

from __future__ import annotations

import duckdb

from traceq.database.sql import run

TABLES = "analysis/hang/tables.sql"
_STEPS = ("hang_group", "hang_fact", "hang_call", "hang_parting")


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables on hanging jobs, which are empty."""
    run(connection, TABLES)


def match_recorded(connection: duckdb.DuckDBPyConnection, world_size: int | None = None) -> None:
    """Fill the tables hang_* from recorded_*. `world_size` is how many ranks the job has; None where nobody says.

    Of several dumps of a rank only the rows of one must be there.
    """
    for step in _STEPS:
        run(connection, f"analysis/hang/{step}.sql", world_size=world_size or 0)
