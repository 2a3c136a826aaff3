"""A memory snapshot beside a trace: its allocations on the trace's clock, in the trace's steps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from builder import TraceBuilder

from traceq.app.ingest import ingest
from traceq.database.connect import connect
from traceq.errors import UnusableTrace

sys.path.append(str(Path(__file__).parents[1] / "importers"))

from snapshots import make_history, make_segment, make_snapshot, write_file

from traceq.importers.memory_snapshot import beside

# us since the epoch, and what the trace calls 0
START = 1_700_000_000_000_000
HISTORY = "\n".join(
    f"{START + 1000 * at} {what}"
    for at, what in (
        (0, "segment_alloc 1000 4096 main"),
        (0, "alloc 1000 100 init"),
        (5, "alloc 1512 200 forward"),
        (15, "alloc 2024 300 forward"),
        (16, "free 2024 300 backward"),
        (16, "freed 2024 300 backward"),
    )
)


def two_steps(tmp_path, malloc):
    """Steps of 10 ms from the start of the history on; cudaMalloc ends `malloc` ns after it."""
    trace = TraceBuilder()
    trace.add("trace", producer="tests", utc_origin_ns=START * 1000)
    for step in range(2):
        trace.annotation(f"traceq.step#{step}", step * 10_000_000, 10_000_000)
    if malloc is not None:
        trace.call("cudaMalloc", malloc, 0)
    blocks = make_segment(1000, "512 100 used init\n512 200 used forward\n3072 0 free -")
    path = write_file(tmp_path, make_snapshot(make_history(HISTORY), segments=[blocks]))
    for table, batch in beside(path, START * 1000):
        for row in batch.to_pylist():
            trace.add(table, **row)
    return trace.fill_all()


def test_allocations_have_steps(tmp_path):
    trace = two_steps(tmp_path, 20_000)
    assert trace.text("select ts, requested_bytes, category, step, at_peak from allocation") == (
        "0 100 parameters 0 True\n5000000 200 activations 0 True\n15000000 300 activations 1 True"
    )
    assert trace.text("select step, peak, allocated_end from memory_step") == "0 300 300\n1 600 300"


def test_calls_that_allocate_tell_how_far_the_clocks_are_apart(tmp_path):
    note = "select text from import_note where code = 'snapshot_clock'"
    ((text,),) = two_steps(tmp_path, 20_000).rows(note)
    assert "1 of 1 segments come within 1 ms of a call that allocates, at the median 20.0 us" in text
    ((text,),) = two_steps(tmp_path, None).rows(note)
    assert "nothing in the trace shows how well" in text


@pytest.mark.slow
def test_a_snapshot_is_given_with_a_trace(tmp_path):
    events = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{n}",
            "pid": 1,
            "tid": 1,
            "ts": 10_000 * n,
            "dur": 10_000,
        }
        for n in range(2)
    ]
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"baseTimeNanoseconds": START * 1000, "traceEvents": events}))
    path = write_file(tmp_path, make_snapshot(make_history(HISTORY)))
    ingest(trace, tmp_path / "a.duckdb", logs=[path])
    with connect(tmp_path / "a.duckdb") as database:
        rows = database.execute("select ts, step from allocation order by ts").fetchall()
    assert rows == [(0, 0), (5_000_000, 0), (15_000_000, 1)]
    ingest(trace, tmp_path / "twice.duckdb", logs=[path, path])
    with connect(tmp_path / "twice.duckdb") as database:
        assert database.execute("select ts, step from allocation order by ts").fetchall() == rows
        assert database.execute("select count from import_note where code = 'given_twice'").fetchall() == [(1,)]


def test_where_a_trace_has_no_time_of_day_the_offset_of_a_snapshot_must_be_given(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text('[{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 10}]')
    path = write_file(tmp_path, make_snapshot(make_history(HISTORY)))
    with pytest.raises(UnusableTrace, match="give --offset"):
        ingest(trace, tmp_path / "a.duckdb", logs=[path])
    ingest(trace, tmp_path / "a.duckdb", logs=[path], offset=-START / 1e6)
    with connect(tmp_path / "a.duckdb") as database:
        assert database.execute("select min(ts) from allocation").fetchone() == (0,)


def test_samples_of_the_profiler_come_first(tmp_path):
    """Where the trace has totals itself, the snapshot's stand not beside them."""
    trace = TraceBuilder()
    trace.add("counter", device=0, name="memory_allocated", unit="bytes", ts=5, value=7.0)
    path = write_file(tmp_path, make_snapshot(make_history("1 alloc 1 8 main")))
    for table, batch in beside(path, 0):
        for row in batch.to_pylist():
            trace.add(table, **row)
    assert trace.fill_all().text("select ts, allocated from memory_timeline") == "5 7"
