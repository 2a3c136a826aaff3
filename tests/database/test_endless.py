"""Queries that DuckDB does not stop when it is told to: it binds each function of a list within another twice."""

from __future__ import annotations

import subprocess
import sys

import pytest

from traceq.database.empty import create_database

PROGRAM = "from traceq.database import user_sql; user_sql._PATIENCE = 0.5; from traceq.__main__ import run; run()"


def lambdas(depth):
    """A list in a list in a list; each level doubles what it takes to bind it."""
    inner = f"[x{depth}]"
    for number in range(depth, 0, -1):
        inner = f"list_transform([x{number - 1}], lambda x{number}: {inner})"
    return f"select list_transform([1], lambda x0: {inner})"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not watched there")
def test_the_program_ends_with_a_line_and_leaves_nothing(tmp_path):
    create_database(tmp_path / "t.duckdb")
    before = sorted(tmp_path.iterdir())
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, "sql", tmp_path / "t.duckdb", lambdas(40), "--timeout", "1s"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    said = "traceq: error: the query was stopped after 1 s: ask for less at a time, or give it more with --timeout\n"
    assert (run.returncode, run.stdout, run.stderr) == (1, "", said)
    assert sorted(tmp_path.iterdir()) == before
