"""traceq log, and what record, experiment and verify add to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from traceq.capture import record
from traceq.runs.program_log import NAME

FIXTURES = Path(__file__).parents[2] / "fixtures"
TRACE = FIXTURES / "pairs" / "float64.pt.trace.json.gz"


@pytest.fixture
def recorded(traceq, tmp_path, monkeypatch):
    """A folder in which `traceq record` left a trace with findings."""
    monkeypatch.chdir(tmp_path)
    Path("traces").mkdir()
    trace = Path(shutil.copy(TRACE, Path("traces").absolute()))
    monkeypatch.setattr(record, "record", lambda *_: record.Recording(0, (trace,), ()))
    outcome = traceq("record", "--", "python", "/home/alice/train.py")
    assert outcome.exit_code == 0, outcome.output
    return Path("traces")


def read(folder):
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


def test_a_recording_adds_the_findings_of_its_report(traceq, recorded):
    report = json.loads(traceq("report", *recorded.glob("*.duckdb"), "--format", "json").stdout)
    (trace,) = report["traces"]
    entries = read(recorded)
    assert [(each["number"], each["finding_id"], each["title"]) for each in entries] == [
        (each["number"], each["id"], each["title"]) for each in trace["findings"]
    ]
    assert {each["program"] for each in entries} == {"python /home/alice/train.py"}
    first = trace["findings"][0]
    assert entries[0]["predicted"] * entries[0]["step_ns"] == pytest.approx(first["saving_ns"], rel=0.01)


def test_a_decision_is_shown_with_its_reason(traceq, recorded):
    assert traceq("log").exit_code == 0
    said = traceq("log", "--reject", "F1", "--because", "the loss changed, see /home/alice/loss.txt")
    title, finding = (read(recorded)[0][name] for name in ("title", "finding_id"))
    assert said.stdout == (f"traces/{NAME}: {title} ({finding}) rejected: the loss changed, see /home/alice/loss.txt\n")
    text = traceq("log", "traces").stdout
    assert "rejected: by hand" in text
    assert "the loss changed, see /home/alice/loss.txt" in text
    page = traceq("log", "--format", "md").stdout
    assert "the loss changed, see loss.txt" in page
    assert "alice" not in page
    content = json.loads(traceq("log", "--format", "json").stdout)
    assert content["left_out"] == []
    assert content["entries"][-1] == read(recorded)[-1]
    assert traceq("log", "--keep", finding).exit_code == 0
    assert "kept: by hand" in traceq("log").stdout
    assert traceq("log", "--note", "asked the owner of the data").exit_code == 0
    assert "asked the owner of the data" in traceq("log").stdout


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--reject", "F1"], 2, "Say why: traceq log --reject F1 --because TEXT"),
        (["--because", "x"], 2, "give --keep or --reject"),
        (["--keep", "F1", "--note", "x"], 2, "one of --keep, --reject and --note"),
        (["--keep", "F99"], 1, "F99: no such finding in the log; there are F1 ("),
        (["nowhere"], 1, "nowhere: no such folder"),
        (["empty"], 1, f"empty: no {NAME} there or one folder below"),
    ],
)
def test_what_cannot_be_done_says_why(traceq, recorded, options, code, said):
    before = read(recorded)
    Path("empty").mkdir()
    outcome = traceq("log", *options)
    assert (outcome.exit_code, read(recorded)) == (code, before)
    assert said in outcome.stderr


def test_a_recording_without_a_finding_says_so(traceq, tmp_path, monkeypatch):
    trace = Path(shutil.copy(FIXTURES / "broken" / "bom.json", tmp_path))
    monkeypatch.setattr(record, "record", lambda *_: record.Recording(0, (trace,), ()))
    assert traceq("record", "--no-report", "-o", tmp_path, "--", "python", "run.py").exit_code == 0
    (entry,) = read(tmp_path)
    assert (entry["finding_id"], entry["number"]) == (None, None)
    assert entry["outcome"] == "cannot tell"
    assert entry["reason"].startswith("Cannot tell what to fix first: ")
    assert "Cannot tell what to fix first" in " ".join(traceq("log", tmp_path).stdout.split())


def test_a_log_that_cannot_be_written_does_not_fail_the_recording(traceq, tmp_path, monkeypatch):
    trace = Path(shutil.copy(TRACE, tmp_path))
    (tmp_path / NAME).mkdir()
    monkeypatch.setattr(record, "record", lambda *_: record.Recording(0, (trace,), ()))
    outcome = traceq("record", "--no-report", "-o", tmp_path, "--", "python", "run.py")
    assert outcome.exit_code == 0
    assert f"traceq: the findings are not in the log: {tmp_path / NAME}: cannot be written" in outcome.stderr


def test_verify_adds_what_the_fix_won(traceq, recorded):
    rule = read(recorded)[0]["rule"]
    outcome = traceq("verify", rule, "--before", TRACE, "--after", TRACE, "--log", recorded)
    assert outcome.exit_code == 0, outcome.output
    entry = read(recorded)[-1]
    assert (entry["by"], entry["rule"], entry["change"], entry["state"]) == ("verify", rule, "the fix", "still there")
    assert (entry["source"], entry["decision"]) == (f"{TRACE.name} -> {TRACE.name}", None)
    assert entry["predicted_low"] <= entry["predicted"] <= entry["predicted_high"]
    assert entry["won"] == 0
    assert "the fix" in traceq("log").stdout
