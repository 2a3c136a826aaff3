"""traceq noise, as it is typed."""

from __future__ import annotations

import json

import duckdb
import pytest
from builder import TraceBuilder


@pytest.fixture
def runs(tmp_path):
    """Three databases of twelve steps each, of 1.00, 1.03 and 0.97 ms."""
    found = []
    for number, dur in enumerate((1_000_000, 1_030_000, 970_000)):
        trace = TraceBuilder()
        for step in range(12):
            ts = step * dur
            trace.annotation(f"ProfilerStep#{step}", ts, dur)
            trace.kernel("gemm", ts + 20_000, 500_000 + step * 100, launched=(ts + 5_000, 5_000))
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        trace.build(folder)._connection.close()
        # what is made up has one hash
        with duckdb.connect(str(folder / "trace.duckdb")) as connection:
            connection.execute("update trace set sha256 = $1", [f"run {number}"])
        found.append(str(folder / "trace.duckdb"))
    return found


@pytest.mark.slow
def test_it_says_what_runs_differ_by(traceq, runs):
    outcome = traceq("noise", *runs, "--format", "json")
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    told = json.loads(outcome.stdout)
    assert told["between"] == pytest.approx(0.03, rel=0.1)
    assert [each["steps"] for each in told["runs"]] == [12, 12, 12]
    assert "Runs differ by 3.0 % of a step" in traceq("noise", *runs).stdout


@pytest.mark.slow
def test_one_run_is_refused(traceq, runs):
    outcome = traceq("noise", runs[0])
    assert outcome.exit_code == 2
    assert "noise needs two runs with at least two counted steps each; 1 qualifies" in outcome.stderr
