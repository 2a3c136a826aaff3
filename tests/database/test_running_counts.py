"""DuckDB counts with a filter in a running window anew for each row: 200,000 rows take seconds."""

from __future__ import annotations

import re
from pathlib import Path

import traceq

RUNNING_COUNT = re.compile(r"count\(\*\)\s+filter\s*\((?:[^()]|\([^()]*\))*\)\s*over\s*\([^()]*\border by\b")
# A handful of rows, and a part of the schema.
FEW_ROWS = {"analysis/serving/views.sql"}


def test_no_query_counts_with_a_filter_in_a_running_window():
    package = Path(traceq.__file__).parent
    texts = {file.relative_to(package).as_posix(): file.read_text("utf-8") for file in package.rglob("*.sql")}
    assert {name for name, text in texts.items() if RUNNING_COUNT.search(text)} == FEW_ROWS


def test_the_pattern_finds_such_counts():
    assert RUNNING_COUNT.search("count(*) filter (a = (b)) over (partition by c order by d rows unbounded preceding)")
    assert not RUNNING_COUNT.search(
        "count(if(a, 1, null)) over (order by d), count(*) filter (a) over (partition by c)"
    )
