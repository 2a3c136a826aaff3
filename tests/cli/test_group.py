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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("profle.sqlite", "profle.sqlite: no such file; did you mean profile.sqlite?"),
        ("profil.json", "profil.json: no such file; did you mean profile.sqlite?"),
        ("other.json", "other.json: no such file"),
        ("there/x.json", "there/x.json: no such file: there is no folder there"),
    ],
)
def test_a_path_that_is_not_there_ends_alike_with_and_without_report(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    for each in ("profile.sqlite", "run.json"):
        (tmp_path / each).touch()
    for result in (run(name), run("report", name), run("whatif", name)):
        assert (result.exit_code, result.stderr) == (1, f"traceq: error: {said}\n")


def test_a_word_may_be_meant_as_a_command_or_as_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports.sqlite").touch()
    result = run("reports")
    assert result.exit_code == 2
    assert (
        "'reports' is neither a command nor a file. Did you mean 'report' or 'export' or 'reports.sqlite'?"
        in result.stderr
    )


def test_a_database_that_is_not_there_is_looked_for_beside_it(tmp_path):
    (tmp_path / "profile.duckdb").touch()
    result = run("sql", str(tmp_path / "profil.duckdb"), "select 1")
    assert result.exit_code == 1
    assert result.stderr.endswith(f"no such trace database; did you mean {tmp_path}/profile.duckdb?\n")


def test_help_groups_the_commands_and_says_what_is_read():
    shown = run("--help").output
    headings = [
        line.removesuffix(":") for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")
    ]
    assert headings == [
        "Options",
        "Look at a trace",
        "Compare runs",
        "Try a change",
        "Share a trace",
        "Look things up",
        "Maintain",
    ]
    listed = [line.split()[0] for line in shown.partition("Look at a trace:")[2].splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in main.lazy] == list(main.lazy)
    for form in ("nsys", "PyTorch's profiler", "ROCm", "JAX", "memory snapshots", "operations"):
        assert form in " ".join(shown.split())


@pytest.mark.parametrize("name", ["rules", "baseline", "dataset"])
def test_a_group_without_a_command_prints_its_help_once(name):
    result = run(name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run(name, "--help").stdout


def test_help_is_a_command_too():
    assert run("help").output == run("--help").output
    assert run("help", "sql").output.splitlines()[0] == "Usage: traceq sql [OPTIONS] SOURCE_OR_DB [QUERY]"
