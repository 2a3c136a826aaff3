"""Replays find the temp tables that analyses make on their way in the files that define them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from traceq.analysis.replay import whatif
from traceq.database.query import without_end
from traceq.database.sql import parse


@pytest.mark.parametrize("comment", ["", "-- Since DuckDB 2.0.1 the text of a statement begins with its comments.\n"])
@pytest.mark.parametrize(("table", "file"), whatif._DEFINED_IN.items())
def test_a_temp_table_is_found_with_and_without_comments(table, file, comment, monkeypatch):
    def split_statements(text):
        return [SimpleNamespace(query=comment + without_end(each.query).strip()) for each in parse(text)]

    monkeypatch.setattr(whatif, "parse", split_statements)
    found = whatif._temp_table_definition(file, table).query
    assert found.removeprefix(comment).startswith(f"create temp table {table} as")
