"""An empty trace database for tests that put rows straight into the tables; kernel_tables has functions that do."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from traceq.store import create_schema


@pytest.fixture(scope="module")
def empty_database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        create_schema(connection)
        yield connection


@pytest.fixture
def tables(empty_database: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Every table and view, without rows; what a test puts in is gone after it."""
    empty_database.begin()
    yield empty_database
    empty_database.rollback()
