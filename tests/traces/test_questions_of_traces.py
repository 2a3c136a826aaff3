"""The queries of the index by task on the real traces: what they answer is plausible."""

from __future__ import annotations

import pytest
from trace_files import every_trace

from traceq.database.questions import find_question


def ask(connection, name):
    answer = connection.execute(find_question(name).query)
    columns = [column[0] for column in answer.description]
    return [dict(zip(columns, row, strict=True)) for row in answer.fetchall()]


@every_trace
def test_answers_are_plausible(databases, path):
    connection = databases(path)
    (steps, mean) = connection.execute("select steps, mean / 1e6 from step_stats").fetchone() or (0, 0)
    parts = ask(connection, "steps")
    for device in {row["device"] for row in parts}:
        total = sum(row["ms_per_step"] for row in parts if row["device"] == device)
        assert total == pytest.approx(mean, abs=0.0005 * len(parts) + 1e-9)
    for row in ask(connection, "kernels"):
        assert row["calls"] >= 0.1 / steps
        assert row["mean_us"] <= row["max_us"] + 0.1
    for row in ask(connection, "gaps"):
        assert row["ms"] >= 1
        assert row["line"] is None or row["line"] in row["stack"]
    for row in ask(connection, "latency"):
        assert row["p50_us"] <= row["p90_us"] <= row["p99_us"] <= row["max_us"]
    for row in ask(connection, "streams"):
        assert 0 <= row["busy_percent"] <= 100
    for row in ask(connection, "overlap"):
        assert 0 <= row["percent_hidden"] <= 100
        assert row["hidden_ms"] + row["exposed_ms"] == pytest.approx(row["communication_ms"], abs=0.002)
    for row in ask(connection, "bandwidth"):
        assert row["busbw_alone"] is None or row["busbw_alone"] >= row["busbw"] - 0.01
    for row in ask(connection, "layers"):
        assert row["gpu_ms"] >= 0
    for row in ask(connection, "modules"):
        assert 0 <= row["own_ms"] <= row["gpu_ms"] + 0.001
    assert ask(connection, "traces") == []


@every_trace
def test_streams_of_an_answer_hold_all_gpu_time(databases, path):
    """Compare the sum over all streams and bins with the time in which each stream works."""
    connection = databases(path)
    (busy,) = connection.execute("""
        with work as (select trace_id, device, stream, ts, ts_end from gpu_slice)
        select coalesce(sum(ts_end - ts), 0) / 1e6 from interval_union('work')
    """).fetchone()
    (length,) = connection.execute("select coalesce(max(ts_end) - min(ts), 0) / 1e6 from gpu_slice").fetchone()
    rows = ask(connection, "streams")
    shown = sum(row["busy_percent"] for row in rows) / 100 * length / 20
    assert shown == pytest.approx(busy, abs=0.0005 * len(rows) * length / 20 + 1e-3)
