from __future__ import annotations

import duckdb

from traceq.database.query import ask


def test_numbers_that_are_none_are_none():
    """A changed database can hold them; JSON cannot."""
    query = "select 'inf'::double as a, '-inf'::double as b, 'nan'::double as c, $d + 0.5 as d, 1 as e"
    assert ask(duckdb.connect(), query, d=1, unknown=2) == [{"a": None, "b": None, "c": None, "d": 1.5, "e": 1}]
