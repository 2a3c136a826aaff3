"""Rows of a query, a part of them at a time."""

from __future__ import annotations

from contextlib import closing

import duckdb
import pytest

from traceq.analysis import in_parts


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_all_rows_come_in_order_while_the_connection_does_something_else(count, monkeypatch):
    monkeypatch.setattr(in_parts, "_ROWS", 3)
    with closing(duckdb.connect()) as connection:
        connection.execute("create table seen (i bigint)")
        query = f"select i, 'row ' || i, nullif(i, 1) from range({count}) as t (i) order by i"
        for i, text, other in in_parts.read_rows(connection.sql(query)):
            assert (text, other) == (f"row {i}", None if i == 1 else i)
            connection.execute("insert into seen values (?)", [i])
        assert [i for (i,) in connection.execute("from seen").fetchall()] == list(range(count))
