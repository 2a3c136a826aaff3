from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import duckdb
import pytest
from tables import empty_tables


@pytest.fixture
def tables() -> Iterator[duckdb.DuckDBPyConnection]:
    """Every table and view, without rows, for tests that put rows straight into them (tables.insert, kernel_tables)."""
    with closing(empty_tables()) as connection:
        yield connection
