"""What a command writes is never among what --with reads."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from traceq.cli import main


@pytest.fixture
def logs(tmp_path):
    """A folder with a trace, and one of logs beside it."""
    event = {
        "ph": "X",
        "cat": "kernel",
        "name": "k",
        "pid": 0,
        "tid": 7,
        "ts": 0,
        "dur": 5,
        "args": {"device": 0, "stream": 7},
    }
    (tmp_path / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "nccl.json").write_text("kept\n")
    return folder


@pytest.mark.parametrize("name", ["nccl.json", "report.html", "deeper/report.html"])
@pytest.mark.parametrize("command", ["report", "ingest", "goodput"])
def test_no_file_in_a_folder_that_is_read_is_written(logs, command, name):
    arguments = [command, logs.parent / "t.json", "--with", logs, "-o", logs / name]
    outcome = CliRunner().invoke(main, list(map(str, arguments)))
    assert outcome.exit_code == 2
    assert "whose files --with reads: name a file elsewhere to write" in " ".join(outcome.stderr.split())
    assert [(path.name, path.read_text()) for path in logs.iterdir()] == [("nccl.json", "kept\n")]


def test_a_file_that_with_names_is_not_overwritten(logs):
    log = logs / "nccl.json"
    outcome = CliRunner().invoke(main, ["report", str(logs.parent / "t.json"), "--with", str(log), "-o", str(log)])
    assert (outcome.exit_code, "is the input" in outcome.stderr) == (2, True)
    assert log.read_text() == "kept\n"


@pytest.mark.parametrize("command", ["report", "ingest", "goodput"])
def test_the_folder_itself_is_not_written(logs, command):
    arguments = [command, logs.parent / "t.json", "--with", logs, "-o", f"{logs}/"]
    outcome = CliRunner().invoke(main, list(map(str, arguments)))
    assert outcome.exit_code == 2
    assert [path.name for path in logs.iterdir()] == ["nccl.json"]
