"""The first argument: a command, a file, or neither."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from traceq.cli import main


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_a_file_is_reported(tmp_path):
    path = tmp_path / "no.trace"
    path.write_text("no trace")
    result = run(str(path))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"traceq: error: {path}")


@pytest.mark.parametrize(
    ("name", "said"),
    [("repot", "Did you mean 'report'"), ("zzzzz", "`traceq -h` lists the commands")],
)
def test_what_is_neither_is_wrong_use_with_a_suggestion(name, said):
    result = run(name)
    assert result.exit_code == 2
    assert said in result.stderr


def test_help_is_a_command_too():
    assert run("help").output == run("--help").output
    assert run("help", "sql").output.splitlines()[0] == "Usage: traceq sql [OPTIONS] SOURCE_OR_DB [QUERY]"
