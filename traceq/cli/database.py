"""A trace database opened for SQL typed by anybody: it can be read, and nothing else, and not written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from traceq import queries, store

# The last one makes the others final. Without external access variables of this program are no tables either.
_LOCK = (
    queries.ERRORS_WITH_POSITION,
    "set enable_external_access = false",
    "set lock_configuration = true",
)


@contextmanager
def locked(path: str | Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the trace database at `path`, read-only, without access to files, network and extensions."""
    with closing(store.connect(path)) as connection:
        if not os.access(Path(path).resolve().parent, os.W_OK):
            # Large sorts spill to disk, by default beside the database: a read-only place here.
            connection.execute("set temp_directory = ?", [tempfile.gettempdir()])
        for setting in _LOCK:
            connection.execute(setting)
        try:
            yield connection
        except BaseException:
            # Closing waits for a query that still runs, also when nobody reads its result any more (| head).
            connection.interrupt()
            raise
