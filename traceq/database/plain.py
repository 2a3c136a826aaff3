"""DuckDB files that are no trace databases: opened with the command's limits, without access to other files."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from traceq.common.limits import LEAST_OF_QUERIES, limits
from traceq.database.connect import check_name, threads_for
from traceq.database.failures import one_line
from traceq.errors import StoreError


def connect_plain(file: Path, path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open `file`, which is the user's file `path` or a copy of it. Raises StoreError, naming `path`."""
    check_name(path)
    memory = max(limits().memory_bytes, LEAST_OF_QUERIES)
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory}B",
        "threads": str(threads_for(memory)),
    }
    try:
        connection = duckdb.connect(os.path.abspath(file), read_only=read_only, config=config)  # noqa: PTH100 - as in connect.py
        connection.execute("set enable_external_access = false")
    except duckdb.Error as error:
        raise StoreError(f"{path}: cannot be opened, is it damaged? {one_line(error)}") from error
    return connection
