from __future__ import annotations

import shlex

import duckdb
import pytest

from traceq.cli import demo


def test_the_demo_reports_and_every_command_it_names_works(traceq, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = traceq("demo")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith("traceq-demo.duckdb: 1 trace, ")
    assert "Fix first: " in outcome.stdout
    named = [shlex.split(line) for line in outcome.stdout.split("Also try:\n")[1].splitlines()]
    assert [words[1] for words in named] == ["sql", "shell", "help"]
    for words in named:
        assert traceq(*words[1:], input="").exit_code == 0


@pytest.mark.slow
def test_the_demo_can_be_repeated(traceq, tmp_path):
    database = tmp_path / "with blank.duckdb"
    assert traceq("demo", "-o", database).exit_code == 0
    again = traceq("demo", "-o", database)
    assert again.stdout.startswith(f"{database}: already there, nothing to do\n")
    assert f"traceq shell '{database}'" in again.stdout


def test_a_directory_that_cannot_be_written_does_not_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(demo.os, "access", lambda *_: False)
    monkeypatch.setattr(demo.tempfile, "mkdtemp", lambda **_: str(tmp_path))
    assert demo.default_database() == str(tmp_path / "traceq-demo.duckdb")


@pytest.mark.slow
def test_the_bundled_trace_shows_steps_and_communication(traceq, tmp_path):
    traceq("demo", "-o", tmp_path / "d.duckdb")
    with duckdb.connect(str(tmp_path / "d.duckdb"), read_only=True) as connection:
        steps, kernels = connection.execute(
            "select (select count(*) from step), (select count(*) from kernel where is_communication)"
        ).fetchone()
    assert steps > 1
    assert kernels > 0
