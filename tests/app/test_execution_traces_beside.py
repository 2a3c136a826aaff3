"""An execution trace beside the trace of a real program: which operators were joined, and what the notes and commands say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "importers"))

from executed_programs import depend_by_bytes, record

from traceq.app.api import ingest
from traceq.cli import main
from traceq.errors import UnknownFormat, UnusableTrace


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Paths of a trace and its execution trace."""
    return record("perceptron", tmp_path_factory.mktemp("recorded"))


def notes(trace, target, *logs):
    """Severity and words of the notes on execution traces, and how many dependencies are stored."""
    ingest(trace, target, logs=logs)
    with duckdb.connect(str(target), read_only=True) as db:
        found = db.execute(
            "select severity, text from import_note where code in ('execution_trace', 'given_twice') order by all"
        ).fetchall()
        return found, db.execute("select count(*) from operator_dependency").fetchone()[0]


def test_every_dependency_is_between_slices_of_the_trace(recorded, tmp_path):
    trace, executed = recorded
    ingest(trace, tmp_path / "t.duckdb", logs=[executed])
    with duckdb.connect(str(tmp_path / "t.duckdb"), read_only=True) as db:
        found = db.execute(
            "select (r.args ->> '$.\"Record function id\"')::int, (w.args ->> '$.\"Record function id\"')::int, d.kind"
            " from operator_dependency as d"
            " join cpu_slice as r on r.slice_id = d.slice_id join cpu_slice as w on w.slice_id = d.source_id"
            " where w.ts_end <= r.ts"
        ).fetchall()
    assert {(reader, writer): kind for reader, writer, kind in found} == depend_by_bytes(trace, executed)


def test_a_note_says_how_many_operators_are_joined(recorded, tmp_path):
    trace, executed = recorded
    (second, first), stored = notes(trace, tmp_path / "t.duckdb", executed, executed)
    dependencies = len(depend_by_bytes(trace, executed))
    content = json.loads(executed.read_text())["nodes"]
    operators = sum(one["name"] == "op_schema" and one["value"] != "" for node in content for one in node["attrs"])
    said = f"perceptron.et.json, an execution trace: {operators:,} of {operators:,} operators are in the trace"
    assert first == ("info", f"{said}, with {dependencies:,} of {dependencies:,} dependencies")
    assert second == ("info", "perceptron.et.json is identical to perceptron.et.json, and counts once")
    assert stored == dependencies


def test_one_of_another_process_is_not_joined(recorded, tmp_path):
    trace, executed = recorded
    other = tmp_path / "other.json"
    other.write_text(json.dumps(json.loads(executed.read_text()) | {"pid": 1}))
    ((severity, text),), stored = notes(trace, tmp_path / "t.duckdb", other)
    assert (severity, stored) == ("data_loss", 0)
    assert "0 of" in text
    assert "record both at once" in text


def test_one_of_another_run_whose_numbers_coincide_is_not_joined(recorded, tmp_path):
    # some neighbours have the same name, and alone would be joined
    trace, executed = recorded
    whole = json.loads(executed.read_text())
    for node in whole["nodes"]:
        for attribute in node["attrs"]:
            if attribute["name"] == "rf_id" and attribute["value"]:
                attribute["value"] += 1
    other = tmp_path / "other.json"
    other.write_text(json.dumps(whole))
    ((severity, text),), stored = notes(trace, tmp_path / "t.duckdb", other)
    assert (severity, stored) == ("data_loss", 0)
    assert "0 of" in text


def test_one_that_is_cut_is_refused(recorded, tmp_path):
    trace, executed = recorded
    cut = tmp_path / "cut.json"
    cut.write_text(executed.read_text()[:5000])
    with pytest.raises(UnusableTrace, match="before it calls unregister_callback"):
        ingest(trace, tmp_path / "t.duckdb", logs=[cut])


def test_one_alone_says_what_to_do(recorded):
    _, executed = recorded
    result = CliRunner().invoke(main, ["report", str(executed)])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit | UnknownFormat)
    assert "traceq report TRACE --with perceptron.et.json" in result.output


def test_the_question_lists_what_operators_wait_for(recorded, tmp_path):
    trace, executed = recorded
    ingest(trace, tmp_path / "t.duckdb", logs=[executed])
    result = CliRunner().invoke(main, ["sql", str(tmp_path / "t.duckdb"), "--task", "dependencies", "--format", "csv"])
    assert result.exit_code == 0
    assert '1,"aten::add_","aten::_foreach_div_","update",24,0.016' in result.output.splitlines()
