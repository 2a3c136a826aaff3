"""Running the rules on a database, whose findings are kept in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from traceq.database.connect import connect
from traceq.database.user_sql import interruptible
from traceq.diagnosis.cache import fill
from traceq.errors import StoreError

if TYPE_CHECKING:
    import duckdb


def fill_judgements(database: Path) -> str | None:
    """Run the rules and store what they find in the database; returns why that failed, else None."""
    try:
        with closing(connect(database, read_only=False)) as connection:
            return judge_traces(connection)
    except (StoreError, OSError) as error:
        return str(error)


def judge_traces(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The same for a database that is open to write."""
    try:
        interruptible(connection, lambda: fill(connection))
    except (StoreError, OSError) as error:
        return str(error)
    return None
