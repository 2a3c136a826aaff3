"""A trace database opened for SQL typed by anybody: it can be read, and nothing else, and not written."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from traceq import queries, store

# The last one makes the others final. Without external access variables of this program are no tables either.
_LOCK = (
    queries.ERRORS_WITH_POSITION,
    "set enable_external_access = false",
    "set lock_configuration = true",
)

_SECONDS_BETWEEN_TRIES = 0.02


@contextmanager
def locked(path: str | Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the trace database at `path`, read-only, without access to files, network and extensions."""
    connection = store.connect(path)
    try:
        if not os.access(Path(path).resolve().parent, os.W_OK):
            # Large sorts spill to disk, by default beside the database: a read-only place here.
            connection.execute("set temp_directory = ?", [tempfile.gettempdir()])
        for setting in _LOCK:
            connection.execute(setting)
        yield connection
    finally:
        _close(connection)


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close, and stop what still runs: also when nobody reads its result any more (| head, Ctrl-C)."""
    while True:
        connection.interrupt()
        try:
            connection.close()
        except duckdb.ResourceInUseException:
            # Another thread is inside a call; it ends soon after an interrupt.
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return
