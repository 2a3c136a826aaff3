"""Little memory for questions that go over a whole trace: what does not fit goes through a scratch directory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# DuckDB's own; questions over a million GPU slices take little longer with it, and half the memory or less.
_MEMORY = "512MiB"


@contextmanager
def sparing(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let the connection use so much memory and no more. Raises OSError when there is no place for a scratch directory."""
    with tempfile.TemporaryDirectory(prefix="traceq-") as scratch:
        connection.execute("set memory_limit = ?", [_MEMORY])
        connection.execute("set temp_directory = ?", [scratch])
        yield
