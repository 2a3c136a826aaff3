"""Printed values beside traces: what of them is taken, and where they go with the trace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import traceq
from traceq.app.anonymise import anonymise
from traceq.app.trim import trim
from traceq.formats.made_with import size_of_content

TRACE = Path(__file__).parents[2] / "fixtures" / "run" / "kineto_2026.json.gz"


@pytest.fixture
def trace(tmp_path):
    return shutil.copy(TRACE, tmp_path / "run.json.gz")


def put(trace, values, **more):
    content = {"traceq_printed": 1, "trace_bytes": size_of_content(trace), "window_ns": [1_000, 2_000]} | more
    trace.with_name("run.printed.json").write_text(json.dumps(content | {"values": values}))


def ask(trace, query):
    with traceq.open(trace, cache=False) as traces:
        return traces.sql(query).fetchall()


def read_notes(trace):
    return [text for (text,) in ask(trace, "select text from import_note where code = 'printed_left_out'")]


VALUES = "select line, step, steps_completed, quantity, value, unit, is_recorded from printed_value order by all"


def test_values_are_on_the_clock_of_the_trace_and_tell_whether_the_profiler_ran(trace):
    ((origin,),) = ask(trace, "select utc_origin_ns from trace")
    window = [origin + 1_000, origin + 2_000]
    put(
        trace,
        [
            [origin + 500, 0, 1, 3, "loss", 2, None],
            [origin + 1_500, 1, None, 4, "step_time", 12.5, "ns"],
            [origin + 2_500, 2, 3, 9, "throughput", 4.5, "it/s"],
        ],
        window_ns=window,
    )
    assert ask(trace, VALUES) == [
        (0, 1, 3, "loss", 2.0, None, False),
        (1, None, 4, "step_time", 12.5, "ns", True),
        (2, 3, None, "throughput", 4.5, "it/s", False),
    ]
    assert ask(trace, "select ts from printed_value order by line") == [(500,), (1_500,), (2_500,)]


def test_only_what_traceq_writes_is_taken(trace):
    put(
        trace,
        [
            [1, 0, 1, 3, "loss", 0.5, None],
            [1, 0, 1, 3, "name_of_a_project", 0.5, None],
            [1, 0, 1, 3, "throughput", 0.5, "parrots/s"],
            [1, 0, 1, 3, "loss", "0.5", None],
            [1, 0, 1, 3, "loss", float("nan"), None],
            [-1, 0, 1, 3, "loss", 0.5, None],
            [1, 0, True, 3, "loss", 0.5, None],
            [1, 0, 1, 3, ["loss"], 0.5, None],
            [1, 0],
            "loss",
        ],
    )
    assert ask(trace, VALUES) == [(0, 1, 3, "loss", 0.5, None, False)]
    assert read_notes(trace) == []


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"trace_bytes": 1}, "it belongs to another trace"),
        ({"traceq_printed": 2}, "it was written by a later version of traceq"),
        ({"traceq_printed": None}, "it was not written by traceq"),
        ({"window_ns": [1]}, "it does not say when the recording began and ended"),
    ],
)
def test_a_file_that_cannot_be_used_is_left_out_with_a_note(trace, more, why):
    put(trace, [[1, 0, 1, 3, "loss", 0.5, None]], **more)
    assert ask(trace, VALUES) == []
    (note,) = read_notes(trace)
    assert note.startswith(f"run.printed.json, beside the trace, is left out: {why}")


@pytest.mark.parametrize("share", [lambda trace, made: trim(trace, made, ranks=[0]), anonymise])
def test_numbers_go_with_a_part_of_the_trace_and_with_one_without_names(trace, tmp_path, share):
    put(trace, [[1, 0, 1, 3, "loss", 0.5, None], [1, 1, 1, 3, "secret", 0.5, None]], line="of alice")
    made = tmp_path / "made.json.gz"
    (tmp_path / "made.printed.json").write_text("of another trace")
    share(trace, made)
    assert ask(made, VALUES) == [(0, 1, 3, "loss", 0.5, None, False)]
    kept = (tmp_path / "made.printed.json").read_text()
    assert not any(word in kept for word in ("secret", "alice"))


def test_a_changed_file_of_values_is_another_entry_of_the_cache(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    for value in (0.5, 0.25):
        put(trace, [[1, 0, 1, 3, "loss", value, None]])
        with traceq.open(trace) as traces:
            assert traces.sql("select value from printed_value").fetchall() == [(value,)]
