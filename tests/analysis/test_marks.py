"""What the marks of traceq.annotate say: steps, phases per step, throughput."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import datetime
from itertools import accumulate

import pytest
from builder import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st
from tables import a_hundred, empty_tables, insert, worlds

from traceq.annotate import names
from traceq.database.connect import connect
from traceq.loading.ingest import ingest

STEPS = "select step, name, source, ts, dur from step order by step"
PHASES = "select step, phase, count, dur from step_phase order by all"


def trace_of(*marks, steps=2, dur=100):
    """Steps of `dur` ns one after the other, and marks (name, ts, dur[, thread])."""
    trace = TraceBuilder()
    for number in range(steps):
        trace.annotation(f"traceq.step#{number}", number * dur, dur)
    for name, *where in marks:
        trace.annotation(f"traceq.{name}", *where)
    return trace


# ---- steps


def test_traceqs_steps_win_over_the_profilers():
    trace = trace_of()
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", 60 * number, 60)
    assert trace.fill().text(STEPS) == "0 traceq.step#0 mark 0 100\n1 traceq.step#1 mark 100 100"


def test_a_given_step_range_wins_over_marks():
    trace = trace_of(("phase#epoch", 20, 100))
    assert trace.fill(step_range="epoch$").text(STEPS) == "0 traceq.phase#epoch step_range 20 100"


def test_of_nested_steps_the_outer_counts():
    trace = trace_of(("step#0", 10, 20), ("step#1", 40, 20), ("step#2", 100, 90))
    assert trace.fill().text("select name from step order by step") == "traceq.step#0\ntraceq.step#1"


def test_a_step_lasts_to_the_start_of_the_next():
    trace = TraceBuilder()
    trace.annotation("traceq.step#0", 0, 80)
    trace.annotation("traceq.step#1", 100, 80)
    assert trace.fill().text(STEPS) == "0 traceq.step#0 mark 0 100\n1 traceq.step#1 mark 100 80"


@pytest.mark.parametrize(("marked", "counted"), [(80, [0, 1]), (98, [0, 1]), (99, [0, 1, 2]), (100, [0, 1, 2])])
def test_the_last_step_does_not_count_when_its_share_of_the_time_between_marks_is_missing(marked, counted):
    trace = TraceBuilder()
    for number in range(3):
        trace.annotation(f"traceq.step#{number}", 100 * number, marked)
    trace.fill("step_stats")
    assert trace.rows("select list(step order by step) from step where excluded is null") == [(counted,)]
    assert trace.rows("select mean from step_stats") == [(sum([100, 100, marked][: len(counted)]) / len(counted),)]


@pytest.mark.parametrize("name", ["phase#train_step", "fetch#batches", "module#step", "payload#samples=1", "step#x"])
def test_other_marks_are_no_steps(name):
    trace = TraceBuilder()
    for number in range(4):
        trace.annotation(f"traceq.{name}", 100 * number, 100)
        trace.kernel("gemm", 100 * number + 20, 50, launched=(100 * number + 10, 5))
    assert trace.fill().text("select source from step") == "window"


# ---- mark


def test_marks_are_taken_apart():
    trace = trace_of(
        ("phase#for#ward", 10, 20), ("module#encoder.0", 11, 5), ("fetch#train", 90, 20), ("payload#samples=32", 50, 0)
    )
    trace.annotation("traceq.surprise#1", 20, 5)
    trace.annotation("traceq.phase", 30, 5)
    trace.op("traceq.phase#as_operator", 40, 5)
    assert trace.fill().text("select mark, label, step, ts, dur, ts_end, depth from mark order by ts, dur") == (
        "step 0 0 0 100 100 0\nphase for#ward 0 10 20 30 1\nmodule encoder.0 0 11 5 16 2\npayload samples=32 0 50 0 50 1\n"
        "fetch train 0 90 20 110 1\nstep 1 1 100 100 200 0"
    )


def test_a_mark_outside_all_steps_has_none():
    trace = TraceBuilder()
    trace.annotation("traceq.phase#setup", 0, 10)
    trace.annotation("traceq.step#0", 100, 50)
    trace.annotation("traceq.phase#cleanup", 150, 10)
    trace.fill()
    assert trace.text("select label, step from mark order by ts") == "setup -\n0 0\ncleanup -"
    assert trace.text(PHASES) == ""


@pytest.mark.parametrize(("categories", "expected"), [(("traceq", None, "other"), 1), ((None, "other"), 2)])
def test_where_marks_have_a_domain_only_those_in_it_count(categories, expected):
    """PyTorch's emit_nvtx repeats the marks as ranges of no domain."""
    trace = trace_of(steps=1)
    for category in categories:
        trace.annotation("traceq.payload#samples=2", 10, 0, category=category)
    assert trace.fill().rows("select count(*) from mark where mark = 'payload'") == [(expected,)]


# ---- step_phase


def test_fetches_are_the_phase_data():
    trace = trace_of(("fetch#train", 0, 10), ("phase#data", 20, 5), ("fetch#other", 21, 3), ("phase#forward", 30, 40))
    assert trace.fill().text(PHASES) == "0 data 2 15\n0 forward 1 40"


def test_a_phase_inside_itself_counts_once():
    trace = trace_of(
        ("phase#forward", 10, 50), ("phase#forward", 20, 10), ("phase#forward", 25, 1), ("phase#other", 20, 10)
    )
    assert trace.fill().text(PHASES) == "0 forward 1 50\n0 other 1 10"


def test_instances_that_touch_are_two():
    trace = trace_of(("phase#a", 10, 5), ("phase#a", 15, 5), ("phase#a", 20, 0))
    assert trace.fill().text(PHASES) == "0 a 3 10"


def test_instances_of_coroutines_may_overlap():
    trace = trace_of(("phase#request", 10, 20), ("phase#request", 20, 20))
    assert trace.fill().text(PHASES) == "0 request 1 30"


def test_threads_add_up():
    trace = trace_of(("phase#a", 10, 20), ("phase#a", 20, 20, 1))
    assert trace.fill().text(PHASES) == "0 a 2 40"


def test_a_phase_is_cut_at_the_ends_of_the_step():
    trace = trace_of(("phase#long", 50, 220), ("phase#none", 50, 0), steps=3)
    assert trace.fill().text(PHASES) == "0 long 1 50\n0 none 1 0\n1 long 0 100\n2 long 0 70"


def test_a_phase_may_begin_before_the_first_step_and_end_after_the_last():
    trace = TraceBuilder()
    trace.annotation("traceq.phase#epoch", 0, 500)
    for number in range(2):
        trace.annotation(f"traceq.step#{number}", 100 + 100 * number, 100)
    assert trace.fill().text(PHASES) == "0 epoch 0 100\n1 epoch 0 100"


MARKS = st.tuples(
    st.sampled_from(["phase#a", "phase#b", "phase#data", "fetch#x"]), st.integers(0, 40), st.integers(0, 30)
)
ON_THREADS = st.tuples(MARKS, st.integers(0, 1))


def fill_marks(worlds):
    """Two traces of each (lengths of steps, marks, start of the first), the second a nanosecond later: mixing them shows."""
    traces, steps, slices = [], [], []
    for world, (lengths, marks, first) in enumerate(worlds):
        for later in range(2):
            trace_id = 2 * world + later
            traces.append((trace_id, "p", "s", 0, "chrome", datetime(2024, 1, 1)))  # noqa: DTZ001 - as the table has it
            starts = accumulate(lengths, initial=first + later)
            steps += [
                (trace_id, step, "s", "mark", ts, dur)
                for step, (ts, dur) in enumerate(zip(starts, lengths, strict=False))
            ]
            slices += [
                (trace_id, number, thread, "annotation", f"traceq.{name}", start + later, dur)
                for number, ((name, start, dur), thread) in enumerate(marks)
            ]
    connection = empty_tables()
    insert(connection, "trace", "trace_id path sha256 size_bytes format ingested_at", traces)
    insert(connection, "step", "trace_id step name source ts dur", steps)
    insert(connection, "cpu_slice", "trace_id slice_id thread_id kind name ts dur", slices)
    return connection


def phase_of(name):
    return "data" if name.startswith("fetch") else name.partition("#")[2]


def times_of_phases(step_lengths, marks, first):
    """(step, phase) -> ns, one nanosecond and one thread at a time."""
    steps, ts = [], first
    for dur in step_lengths:
        steps.append(range(ts, ts + dur))
        ts += dur
    times = Counter()
    for instant in range(100):
        open_ = {(thread, phase_of(name)) for (name, start, dur), thread in marks if start <= instant < start + dur}
        for number, step in enumerate(steps):
            times.update((number, phase) for _, phase in open_ if instant in step)
    return times


@a_hundred
@given(
    worlds(
        st.tuples(
            st.lists(st.integers(1, 25), min_size=1, max_size=4), st.lists(ON_THREADS, max_size=12), st.integers(0, 20)
        )
    )
)
def test_times_of_phases_are_those_counted_one_nanosecond_at_a_time(several):
    connection = fill_marks(several)
    for world, (lengths, marks, first) in enumerate(several):
        expected = times_of_phases(lengths, marks, first)
        for trace_id in (2 * world, 2 * world + 1):
            rows = connection.execute(
                "select step, phase, count, dur from step_phase where trace_id = ?", [trace_id]
            ).fetchall()
            assert {(step, phase): dur for step, phase, _, dur in rows if dur} == expected
            assert all(count or dur for _, _, count, dur in rows)
            assert len({row[:2] for row in rows}) == len(rows)


@a_hundred
@given(worlds(st.tuples(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.lists(ON_THREADS, max_size=12))))
def test_cutting_the_trace_into_more_steps_changes_no_sum(several):
    total = "select trace_id, phase, sum(count), sum(dur) from step_phase group by all order by all"
    whole = fill_marks([([sum(lengths)], marks, 0) for lengths, marks in several]).execute(total).fetchall()
    assert fill_marks([(lengths, marks, 0) for lengths, marks in several]).execute(total).fetchall() == whole


# ---- payload, throughput


def test_payloads_add_up_in_their_step():
    trace = trace_of(
        ("payload#samples=32,tokens=65536,micro_batch=0", 10, 0),
        ("payload#samples=32,tokens=1.5e3,micro_batch=1", 60, 0, 1),
        ("payload#samples=16,micro_batch=0", 110, 0),
    )
    assert trace.fill().text("select step, key, value from step_payload order by all") == (
        "0 micro_batch 2.0\n0 samples 64.0\n0 tokens 67036.0\n1 micro_batch 1.0\n1 samples 16.0"
    )


def test_what_is_no_number_is_no_payload():
    trace = trace_of(("payload#a=1,b=x,c,=3,d=nan,e=inf,F=1,g=", 10, 0), ("payload#_", 20, 0), ("payload#a=2", 500, 0))
    assert trace.fill().text("select step, key, value from step_payload") == "0 a 1.0"


def test_throughput_is_over_the_steps_that_count_and_have_the_key():
    trace = TraceBuilder()
    ts = 0
    for number, dur in enumerate((1000, 100, 100, 100, 200)):
        trace.annotation(f"traceq.step#{number}", ts, dur)
        trace.annotation("traceq.payload#samples=3", ts + 10, 0)
        if number % 2:
            trace.annotation("traceq.payload#tokens=7", ts + 20, 0)
        ts += dur
    trace.fill()
    assert trace.text("select step from step where excluded is not null") == "0"
    assert trace.rows("select key, steps, total, per_second from throughput order by key") == [
        ("samples", 4, 12.0, 12 * 1e9 / 500),
        ("tokens", 2, 14.0, 14 * 1e9 / 200),
    ]


def ingest_kineto_marks(folder, marks):
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts / 1000, "dur": dur / 1000}
        for name, ts, dur in marks
    ]
    path = folder / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": events}))
    return path


def ingest_nsys_marks(folder, marks):
    common = {"eventType": 59, "globalTid": 1 << 48 | 1 << 24 | 1, "domainId": 1}
    rows = [{**common, "eventType": 75, "start": 0, "text": "traceq"}]
    rows += [{**common, "start": ts, "end": ts + dur, "text": name} for name, ts, dur in marks]
    columns = ("start", "end", "eventType", "globalTid", "domainId", "text")
    path = folder / "t.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table StringIds (id, value)")
        database.execute('create table NVTX_EVENTS (start, "end", eventType, globalTid, domainId, text)')
        database.executemany(
            "insert into NVTX_EVENTS values (?, ?, ?, ?, ?, ?)", [[row.get(name) for name in columns] for row in rows]
        )
        database.commit()
    return path


def test_both_profilers_tell_the_same(tmp_path):
    """What torch.profiler and nsys write of one loop gives the same rows of every view."""
    marks = []
    for number in range(3):
        ts = 10_000 * number
        marks += [
            (f"traceq.step#{number}", ts, 9_000),
            ("traceq.payload#samples=32,tokens=100.5", ts + 10, 0),
            ("traceq.fetch#loader", ts + 100, 1_000),
            ("traceq.phase#forward", ts + 2_000, 5_000),
            ("traceq.module#0", ts + 2_100, 300),
            ("traceq.fetch#loader", ts + 9_100, 500),
        ]
    answers = []
    for write in (ingest_kineto_marks, ingest_nsys_marks):
        database = ingest([write(tmp_path, marks)], tmp_path / f"{write.__name__}.duckdb").database
        with closing(connect(database)) as connection:
            answers.append(
                {
                    view: connection.execute(
                        f"select columns(lambda c: c <> 'slice_id') from {view} order by all"
                    ).fetchall()
                    for view in ("step", "mark", "step_phase", "step_payload", "throughput")
                }
            )
    assert answers[0] == answers[1]
    assert answers[0]["throughput"] == [
        (1, "samples", 2, 64.0, 64e9 / 20_000),
        (1, "tokens", 2, 201.0, 201e9 / 20_000),
    ]
    assert [row[1:] for row in answers[0]["step_phase"]] == [
        (0, "data", 2, 1_500), (0, "forward", 1, 5_000), (1, "data", 2, 1_500), (1, "forward", 1, 5_000),
        (2, "data", 1, 1_000), (2, "forward", 1, 5_000),
    ]  # fmt: skip


def test_names_as_annotate_makes_them_are_understood(tmp_path):
    labels = ["forward", "a#b=c, d", 'say "hi"\n', "", "x" * 300, "\u6f22\u5b57 \U0001f40d", "traceq.step#1"]
    numbers = {"samples": 32, "loss": 1e-05, "big": 1 << 70, "negative": -2.5, "k9_": 0}
    marks = [(names.step(5), 0, 100_000), (names.payload(numbers), 1, 0), ("traceq.payload#", 2, 0)]
    for number, label in enumerate(labels):
        marks.append((names.phase(label), 1_000 * (number + 1), 500))
        marks.append((names.module(label), 1_000 * (number + 1), 100))
    for write in (ingest_kineto_marks, ingest_nsys_marks):
        database = ingest([write(tmp_path, marks)], tmp_path / f"{write.__name__}.duckdb").database
        with closing(connect(database)) as connection:
            found = connection.execute("select 'traceq.' || mark || '#' || label, ts, dur from mark").fetchall()
            values = dict(connection.execute("select key, value from step_payload").fetchall())
            phases = connection.execute("select phase from step_phase").fetchall()
        assert sorted(found) == sorted(marks)
        assert values == {key: float(value) for key, value in numbers.items()}
        assert sorted(phase for (phase,) in phases) == sorted({names.phase(each).split("#", 1)[1] for each in labels})


def test_without_marks_there_is_nothing():
    trace = TraceBuilder()
    trace.op("aten::mm", 0, 10)
    trace.fill()
    for view in ("mark", "step_phase", "step_payload", "throughput"):
        assert trace.rows(f"select * from {view}") == []
