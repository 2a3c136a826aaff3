"""An empty trace database for tests that put rows straight into the tables; kernel_tables has functions that do."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from traceq.analyzers import analyses
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


@pytest.fixture(scope="module")
def ledger_only() -> Iterator[None]:
    """Traces get the ledger and step_stats: the other analyses cost a tiny trace more than all that a test looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyses, "TOPICS", (analyses.TOPICS[0], analyses.Topic(None, ("step_stats",))))
        yield
