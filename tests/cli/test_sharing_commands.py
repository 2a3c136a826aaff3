from __future__ import annotations

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "run"
KINETO = FIXTURES / "kineto_2026.json.gz"


@pytest.mark.slow
def test_trim_says_what_it_wrote(traceq, tmp_path):
    done = traceq("trim", KINETO, "--steps", "4..5", "-o", tmp_path / "small.json.gz")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{tmp_path / 'small.json.gz'}: 2 steps, ")
    report = traceq("report", tmp_path / "small.json.gz")
    assert "2 steps" in report.stdout


def test_trim_without_a_part_is_wrong_use(traceq, tmp_path):
    done = traceq("trim", KINETO, "-o", tmp_path / "small.json.gz")
    assert done.exit_code == 2
    assert "Say what to keep" in done.stderr


def test_a_database_cannot_be_trimmed(traceq, database, tmp_path):
    done = traceq("trim", database, "--steps", "1", "-o", tmp_path / "small.json.gz")
    assert done.exit_code == 2
    assert "name the trace that it was made from" in done.stderr


def test_anonymise_lists_what_went(traceq, tmp_path):
    path = tmp_path / "trace.json"
    event = {"ph": "X", "cat": "user_annotation", "name": "acme step 1", "ts": 1, "dur": 2, "pid": 1, "tid": 1}
    path.write_text(json.dumps({"host_name": "falcon", "traceEvents": [event]}))
    done = traceq("anonymise", path, "-o", tmp_path / "shared.json")
    assert done.exit_code == 0
    assert "replaced         1  names of annotations" in done.stdout
    assert "removed          1  members of the file: host_name" in done.stdout
    assert "falcon" not in (tmp_path / "shared.json").read_text()


def test_anonymise_needs_a_file_to_write(traceq):
    done = traceq("anonymise", KINETO)
    assert done.exit_code == 2
    assert "-o FILE" in done.stderr


def test_a_file_that_is_there_is_replaced_with_force(traceq, tmp_path):
    target = tmp_path / "small.json.gz"
    for command in (("trim", KINETO, "--steps", "4"), ("anonymise", KINETO)):
        target.write_text("mine")
        refused = traceq(*command, "-o", target)
        assert refused.exit_code == 2
        assert "--force" in refused.stderr
        assert target.read_text() == "mine"
        assert traceq(*command, "-o", target, "--force").exit_code == 0
