"""Snapshots beside traces: which are taken, and what of them."""

from __future__ import annotations

import gzip
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


def put(trace, content=None, **more):
    said = {"traceq_made_with": 1, "trace_bytes": size_of_content(trace), "loader": [{"num_workers": "4"}]} | more
    trace.with_name("run.made_with.json").write_text(json.dumps(said) if content is None else content)


def read_facts(trace, query="select topic, instance, name, value from made_with"):
    with traceq.open(trace, cache=False) as traces:
        return traces.sql(query).fetchall()


def count_notes(trace):
    return [text for (text,) in read_facts(trace, "select text from import_note where code = 'made_with_left_out'")]


def test_a_snapshot_is_found_by_the_name_of_its_trace(trace):
    put(trace, gpu=[{"driver": "570.1"}, {"driver": "570.1"}])
    assert read_facts(trace) == [
        ("loader", 0, "num_workers", "4"), ("gpu", 0, "driver", "570.1"), ("gpu", 1, "driver", "570.1"),
    ]  # fmt: skip
    assert count_notes(trace) == []


def test_a_trace_that_was_unpacked_is_still_the_same(trace):
    put(trace)
    plain = trace.with_name("run.json")
    plain.write_bytes(gzip.decompress(trace.read_bytes()))
    trace.unlink()
    assert read_facts(plain) == [("loader", 0, "num_workers", "4")]


def test_only_what_is_known_to_be_harmless_is_taken(trace):
    put(
        trace,
        host=[{"cpu": "/home/alice", "hostname": "gpu17", "memory": 12}, "x"],
        environment=[{"NCCL_ALGO": "Ring", "SECRET": "1", "OMP_NUM_THREADS": "alice"}],
        nonsense=[{"x": "y"}],
        loader={"num_workers": "4"},
    )
    assert read_facts(trace) == [("environment", 0, "NCCL_ALGO", "Ring"), ("environment", 0, "OMP_NUM_THREADS", "set")]


@pytest.mark.sample(10)
@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "Expecting"),
        ("[" * 50_000, "it is nested too deeply"),
        ("[]", "it was not written by traceq"),
        ('{"traceq_made_with": 2}', "it was written by a later version of traceq"),
        ('{"traceq_made_with": 1, "trace_bytes": 5}', "it belongs to another trace that had this name"),
        (" " * 2**21, "it is larger than 1 MiB"),
    ],
)
def test_a_snapshot_that_is_none_is_left_out_with_a_note(trace, content, why):
    put(trace, content)
    assert read_facts(trace) == []
    (note,) = count_notes(trace)
    assert note.startswith(f"run.made_with.json, beside the trace, is left out: {why}")


def test_the_cache_knows_the_snapshot(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEQ_CACHE_DIR", str(tmp_path / "cache"))
    for workers in ("0", "4"):
        put(trace, loader=[{"num_workers": workers}])
        with traceq.open(trace) as traces:
            assert traces.sql("select value from made_with").fetchall() == [(workers,)]


@pytest.mark.slow
def test_parts_and_traces_without_names_have_it_too(trace, tmp_path):
    put(trace, program=[{"command_line": "0123abcd"}], host=[{"disk": "alice"}])
    trim(trace, tmp_path / "part.json.gz", steps="3")
    anonymise(trace, tmp_path / "shown.json.gz")
    assert [row[2:] for row in read_facts(tmp_path / "part.json.gz")] == [
        ("num_workers", "4"),
        ("command_line", "0123abcd"),
    ]
    assert [row[2:] for row in read_facts(tmp_path / "shown.json.gz")] == [("num_workers", "4")]
    assert "alice" not in (tmp_path / "shown.made_with.json").read_text()


def test_a_trace_without_a_snapshot_leaves_none_beside_its_part(trace, tmp_path):
    (tmp_path / "part.made_with.json").write_text("{}")
    trim(trace, tmp_path / "part.json.gz", steps="3")
    assert not (tmp_path / "part.made_with.json").exists()
