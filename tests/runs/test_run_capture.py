"""What is known of a capture as a whole, and of the stalls and other steps' work in it."""

from __future__ import annotations

import json

import pytest
from builder import TraceBuilder
from tables import empty_tables, insert_row

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.runs.losses import LossRecord, read_losses


def capture(trace, folder):
    """Return the row of capture.sql, by column."""
    connection = trace.build(folder)._connection
    (row,) = ask(connection, statement("runs/sql/capture.sql"), trace_id=1, device=0)
    return row


def steps_of(trace, *lengths):
    ts = 0
    for number, length in enumerate(lengths):
        trace.annotation(f"ProfilerStep#{number}", ts, length)
        ts += length
    return trace


def test_the_maker_and_the_kind(tmp_path):
    trace = steps_of(TraceBuilder(), 1000)
    trace.kernel("gemm", 100, 50, launched=(20, 5))
    found = capture(trace, tmp_path)
    assert (found["vendor"], found["kind"], found["once_ns"]) == ("nvidia", "marked", 0)


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ({0: "NVIDIA H100"}, "NVIDIA H100"),
        ({1: "AMD Instinct MI300X", 0: None}, "AMD Instinct MI300X"),
        ({0: "NVIDIA H100", 1: "NVIDIA H100"}, "NVIDIA H100"),
        ({0: None, 1: "NVIDIA H100", 2: "NVIDIA T4"}, None),
        ({}, None),
    ],
    ids=["one", "the one described has another number", "all alike", "several kinds", "none"],
)
def test_the_name_that_all_devices_share(listed, name, tmp_path):
    trace = steps_of(TraceBuilder(), 1000)
    trace.kernel("gemm", 100, 50, launched=(20, 5))
    for device, each in listed.items():
        trace.add("device", device=device, name=each, source="trace")
    assert capture(trace, tmp_path)["only_device_name"] == name


def test_the_longest_waits_of_a_step(tmp_path):
    """Add the five longest gaps of each step of 1,000 ns: 700, 30 and three of 10 in the first, nearly all of the second."""
    trace = steps_of(TraceBuilder(), 1000, 1000)
    for place in range(7):
        trace.kernel("add", 700 + 40 * place, 30, launched=(10 + place, 1))
    trace.kernel("add", 1999, 1, launched=(1900, 1))
    assert capture(trace, tmp_path)["longest_waits_ns"] == round((700 + 30 + 3 * 10 + 999) / 2)


def test_work_of_other_steps_is_foreign(tmp_path):
    trace = steps_of(TraceBuilder(), 1000, 1000)
    trace.kernel("own", 1100, 200, launched=(1010, 5))
    assert capture(trace, tmp_path)["foreign_ns"] == 0

    trace = TraceBuilder()
    trace.kernel("before", 50, 400, launched=(0, 5))
    for number in range(4):
        trace.annotation(f"ProfilerStep#{number}", 100 + 1000 * number, 1000)
        trace.kernel("own", 600 + 1000 * number, 100, launched=(110 + 1000 * number, 5))
    folder = tmp_path / "other"
    folder.mkdir()
    assert capture(trace, folder)["foreign_ns"] == 350


def test_the_gpu_idles_after_the_last_mark(tmp_path):
    """It ends with the kernel that it launched: from 2,000 to 2,500 nothing runs."""
    trace = steps_of(TraceBuilder(), 1000, 1000)
    trace.kernel("add", 100, 50, launched=(20, 5))
    trace.kernel("late", 2500, 100, launched=(1100, 5))
    assert capture(trace, tmp_path)["idle_tail_ns"] == 500


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"losses": [[2.5], [None]], "batches": [["1.2.3"], []], "random": ["a", "b"], "seed": 3, "type": "float32"},
            LossRecord(((2.5,), (None,)), (), (("1.2.3",), ()), ("a", "b"), 3, "float32"),
        ),
        ("none", None),
        (None, None),
    ],
)
def test_losses_of_the_first_steps_come_with_the_trace(said, expected):
    connection = empty_tables()
    file = {"path": "a.json", "sha256": "", "size_bytes": 0, "format": "chrome", "ingested_at": "2026-01-01"}
    insert_row(connection, "trace", args=json.dumps({"traceq": {"losses": said}}), **file)
    (row,) = ask(connection, statement("runs/sql/losses.sql"), trace_id=1)
    assert read_losses(json.loads(row["losses"]) if row["losses"] else None) == expected
