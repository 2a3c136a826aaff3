"""Numbers that no machine can have cost their rows or columns, and nothing else: each failed with an overflow before."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import duckdb
import pytest

from traceq.database import sql
from traceq.database.connect import connect
from traceq.database.empty import create_database
from traceq.database.times import LATEST, REACH
from traceq.loading import bounds
from traceq.loading.ingest import ingest
from traceq.loading.staging import COPIED, list_staged

FAR = 8_990_000_000_000_000  # us, near the end of 64 bits in ns


def make_event(category, name, ts, dur, **members):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, **members}


def make_kernel(ts, **arguments):
    return make_event("kernel", "k", ts, 5, args={"device": 0, "stream": 7, **arguments})


def list_rows(tmp_path, events, query, **around):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, **around, "traceEvents": events}))
    ingest([path], tmp_path / "t.duckdb")
    with closing(connect(tmp_path / "t.duckdb")) as connection:
        codes = {code for (code,) in connection.execute("select code from import_note").fetchall()}
        return connection.execute(query).fetchall(), codes


@pytest.mark.parametrize("at", [FAR, -FAR])
def test_events_years_from_the_others_are_left_out(tmp_path, at):
    events = [
        make_event("cpu_op", "a", 1, 1),
        make_event("cpu_op", "b", 5, 1),
        make_event("cpu_op", "far", at, 1),
        make_kernel(3),
        make_kernel(at),
    ]
    found, codes = list_rows(
        tmp_path, events, "select name from cpu_slice union all select name from gpu_slice order by 1"
    )
    assert found == [("a",), ("b",), ("k",)]
    assert "time_out_of_range" in codes


def test_a_range_over_all_of_time_has_no_duration(tmp_path):
    half = {"name": "r", "pid": 1, "tid": 1}
    events = [
        {"ph": "B", "ts": -FAR, **half},
        {"ph": "E", "ts": FAR, **half},
        make_event("cpu_op", "a", 1, 1),
        make_kernel(3),
    ]
    found, codes = list_rows(tmp_path, events, "select name from cpu_slice")
    assert found == [("a",)]
    assert {"duration_overflow", "time_out_of_range"} <= codes


def test_numbers_that_cannot_be_are_null(tmp_path):
    events = [
        make_kernel(3, bytes=(1 << 63) - 1),
        make_kernel(20, device=2_147_483_647),
        make_event("cpu_op", "a", 1, 1),
    ]
    found, codes = list_rows(tmp_path, events, "select device, bytes from gpu_slice")
    assert found == [(0, None)]
    assert "number_out_of_range" in codes


@pytest.mark.parametrize("number", [-(1 << 62), -1, (1 << 31) - 1, 1 << 62])
@pytest.mark.parametrize("name", ["numSms", "warpSize", "maxThreadsPerMultiprocessor", "sharedMemPerMultiprocessor"])
def test_a_gpu_that_there_cannot_be_has_no_such_property(tmp_path, name, number):
    gpu = {"id": 0, "numSms": 1, "warpSize": 1, "maxThreadsPerMultiprocessor": 1, "sharedMemPerMultiprocessor": 1}
    found, _ = list_rows(
        tmp_path,
        [make_event("cpu_op", "a", 1, 1), make_kernel(3)],
        "select sm_count, warp_size, max_threads_per_sm, shared_memory_per_sm from device",
        deviceProperties=[{**gpu, name: number}],
    )
    assert sorted(found[0], key=str) == [1, 1, 1, None]


def make_memory(ts, allocated, reserved):
    totals = {"Device Type": 1, "Device Id": 0, "Total Allocated": allocated, "Total Reserved": reserved}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": totals}


@pytest.mark.parametrize(
    ("allocated", "reserved", "kept"),
    [
        (1 << 62, 40, [5, 40, 40]),
        (-1, 40, [5, 40, 40]),
        (7, -(1 << 63), [5, 40, 7]),
        (7, -1, [5, 40, 7]),
        (1 << 50, 1 << 50, [5, 40, 1 << 50, 1 << 50]),
    ],
)
def test_memory_that_no_machine_has_is_left_out(tmp_path, allocated, reserved, kept):
    events = [
        make_memory(2, 5, 40),
        make_memory(4, allocated, reserved),
        make_event("cpu_op", "a", 1, 9),
        make_kernel(3),
    ]
    found, codes = list_rows(tmp_path, events, "select value from counter order by ts, name")
    assert [value for (value,) in found] == kept
    assert ("number_out_of_range" in codes) == (len(kept) == 3)


@pytest.mark.parametrize("base", [-(1 << 63) + 1, (1 << 63) - 1])
def test_a_time_of_day_that_cannot_be_is_unknown(tmp_path, base):
    found, _ = list_rows(
        tmp_path,
        [make_event("cpu_op", "a", 1, 1), make_kernel(3)],
        "select utc_origin_ns from trace",
        baseTimeNanoseconds=base,
    )
    assert found == [(None,)]


def test_a_healthy_trace_gets_no_note_and_is_looked_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "_drop_out_of_range", lambda *_: pytest.fail("one look at all tables tells enough"))
    _, codes = list_rows(tmp_path, [make_event("cpu_op", "a", 1, 1), make_kernel(3)], "select 1")
    assert not codes & {"number_out_of_range", "time_out_of_range", "duration_overflow"}


def test_rows_without_what_all_of_them_have_are_left_out(tmp_path):
    marks = [
        {"start": 5, "globalTid": 1 << 48 | 111 << 24 | 222, "nameId": 1, "graphNodeId": node} for node in (7, None)
    ]
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as export:
        export.execute("create table StringIds (id, value)")
        export.execute("insert into StringIds values (1, 'cudaGraphAddKernelNode')")
        export.execute("create table CUDA_GRAPH_NODE_EVENTS (start, globalTid, nameId, graphNodeId)")
        export.executemany(
            "insert into CUDA_GRAPH_NODE_EVENTS values (:start, :globalTid, :nameId, :graphNodeId)", marks
        )
        export.execute("create table CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId)")
        export.execute("insert into CUPTI_ACTIVITY_KIND_RUNTIME values (5, 6, :globalTid, 1, 1)", marks[0])
        export.commit()
    ingest([tmp_path / "t.sqlite"], tmp_path / "t.duckdb")
    with closing(connect(tmp_path / "t.duckdb")) as connection:
        assert connection.execute("select graph_node_id from graph_node").fetchall() == [(7,)]
        said = connection.execute("select count, text from import_note where code = 'malformed_event'").fetchall()
    assert said == [(1, "rows of graph_node without graph_node_id were left out")]


@pytest.mark.parametrize(
    ("overlap", "lasted"),
    [
        (0.0, [100, 100, 100]),
        (0.001, [100, 100, 100.001]),
        (1.0, [100, 100, 101]),
        (1.5, [101.5, 101.5, 101.5]),  # more than a hundredth, and than a microsecond
        (-3, [97, 97, 97]),
    ],
)
def test_marks_that_overlap_the_next_by_little_end_where_it_begins(tmp_path, overlap, lasted):
    """Nested in one another they would hide all steps but the first (pytorch#174555)."""
    events = [make_event("user_annotation", f"ProfilerStep#{n}", 100 * n, 100 + overlap) for n in range(3)]
    events += [
        make_event("user_annotation", "around", 0, 500),
        make_event("cpu_op", "aten::mm", 50, 51),
        make_kernel(3),
    ]
    query = "select dur / 1000 from cpu_slice where name ^@ 'Prof' order by ts"
    found, codes = list_rows(tmp_path, events, query)
    assert [dur for (dur,) in found] == lasted
    assert ("mark_overlaps_next" in codes) == (0 < overlap <= 1)


def test_marks_inside_marks_of_their_name_stay_as_they_are(tmp_path):
    events = [
        make_event("user_annotation", f"layer {n}", ts, dur) for n, ts, dur in [(0, 0, 1000), (1, 995, 5), (2, 997, 2)]
    ]
    query = "select dur / 1000 from cpu_slice where kind = 'annotation' order by ts"
    found, codes = list_rows(tmp_path, [*events, make_kernel(3)], query)
    assert found == [(1000,), (5,), (2,)]
    assert "mark_overlaps_next" not in codes


ENDS = "select dur / 1000 from gpu_slice order by ts, stream"


def test_work_that_outlasts_what_follows_it_on_its_stream_ends_where_that_begins(tmp_path):
    """Perfetto cuts it as well, other tools sum it up (TraceLens#669)."""
    events = [make_kernel(10) | {"dur": 5000}, make_kernel(100), make_kernel(200)]
    found, codes = list_rows(tmp_path, events, ENDS)
    assert found == [(90,), (5,), (5,)]
    assert "impossible_duration" in codes


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"graph node id": 1}, {"graph node id": 2}),
        ({"stream": 8}, {}),
        ({"correlation": 4}, {"correlation": 4}),  # branches of a graph, by profilers that do not write its id
    ],
)
def test_work_of_a_graph_or_of_different_streams_may_overlap(tmp_path, first, second):
    found, codes = list_rows(tmp_path, [make_kernel(10, **first) | {"dur": 500}, make_kernel(100, **second)], ENDS)
    assert found == [(500,), (5,)]
    assert "impossible_duration" not in codes


@pytest.mark.parametrize("count", [1, 2, 5])
def test_slices_that_start_at_zero_and_last_zero_have_no_time(tmp_path, count):
    """Half of a trace of PyTorch 2.12 is written so (pytorch#188481): it is neither work nor the start of the capture."""
    lost = [make_kernel(0) | {"dur": 0}, make_event("cpu_op", "lost", 0, 0)] * count
    events = [make_event("cpu_op", "a", 5e12, 10), make_kernel(5e12 + 3), *lost]
    found, codes = list_rows(
        tmp_path, events, "select count(*) from gpu_slice union all select count(*) from cpu_slice"
    )
    assert found == [(1 if count > 1 else 2,)] * 2
    assert ("time_out_of_range" in codes) == (count > 1)


@pytest.fixture(scope="module")
def staging(tmp_path_factory):
    """A connection to empty staged tables."""
    path = tmp_path_factory.mktemp("bounds") / "t.duckdb"
    create_database(path)
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("attach ':memory:' as staging")
        sql.run(connection, "loading/staging.sql")
        for table in COPIED:
            connection.execute(f"create table staging.{table} as from {table} limit 0")
        yield connection


SLICE = "insert into staging.cpu_slice by name select range as slice_id, 1 as thread_id, 'op' as kind, 'a' as name, "
COUNTER = "insert into staging.counter by name select 'c' as name, 1 as value, "
THREAD = "insert into staging.thread by name select "


@pytest.mark.parametrize(
    ("rows", "is_doubtful"),
    [
        ("select 1", False),
        (f"{SLICE} 5 as ts, {REACH} as dur from range(100)", False),
        (f"{SLICE} 5 as ts, {REACH} as dur from range(200)", True),  # all together
        (f"{SLICE} 5 as ts, {REACH + 1} as dur from range(1)", True),
        (f"{SLICE} 0 as ts, 0 as dur from range(1)", False),
        (f"{SLICE} 0 as ts, 0 as dur from range(2)", True),
        (f"{SLICE} 5 as ts, 1 as dur from range(1); {COUNTER} {REACH + 5} as ts", False),
        (f"{SLICE} 5 as ts, 1 as dur from range(1); {COUNTER} {REACH + 6} as ts", True),
        (f"{SLICE} {-(1 << 63)} as ts, 1 as dur from range(1); {COUNTER} {(1 << 63) - 1} as ts", True),
        (f"{COUNTER} 5 as ts", False),
        (f"{COUNTER} null as ts", True),
        (f"{THREAD} 7 as thread_id", False),
        (f"{THREAD} 7 as pid", True),
        ("insert into staging.device by name select 1 as device, 'trace' as source, 108 as sm_count", False),
        ("insert into staging.device by name select 1 as device, 'trace' as source, -1 as sm_count", True),
        ("insert into staging.gpu_slice by name select 1 as slice_id, 3 as ts, 1 as dur", True),  # of no GPU
        (f"insert into staging.trace by name select {LATEST} as utc_origin_ns", False),
        ("insert into staging.trace by name select -1 as utc_origin_ns", True),
        (
            f"{SLICE} 5 as ts, 1 as dur from range(1); insert into staging.trace by name select {LATEST} as utc_origin_ns",
            True,
        ),
    ],
)
def test_one_look_tells_whether_anything_may_be_wrong(staging, rows, is_doubtful):
    staging.begin()
    staging.execute(rows)
    assert bounds._is_doubtful(staging, list_staged(staging)) == is_doubtful
    staging.rollback()
