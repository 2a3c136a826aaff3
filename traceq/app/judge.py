"""Running the rules on a database, whose findings are kept in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from traceq.database.connect import connect
from traceq.database.user_sql import interruptible
from traceq.diagnosis.cache import fill
from traceq.errors import StoreError


def fill_judgements(database: Path, memory_limit: int | None = None) -> str | None:
    """Run the rules and store what they find in the database; returns why that failed, else None."""
    try:
        with closing(connect(database, read_only=False, memory_limit=memory_limit)) as connection:
            interruptible(connection, lambda: fill(connection))
    except (StoreError, OSError) as error:
        return str(error)
    return None
