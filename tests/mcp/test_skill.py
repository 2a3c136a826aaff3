"""The skill for agents: what it names is there, and its examples run."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import traceq
from traceq.app.agents import Session
from traceq.app.skill import read_skill
from traceq.cli import main

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"
PAGE = read_skill()
# A command in a block of code or between backticks.
COMMANDS = list(dict.fromkeys(re.findall(r"(?m)(?:^ {3}|`)(traceq [a-z][^`\n]*)", PAGE)))
CALLS = re.findall(r"(?m)^(\w+\(.*\))$", PAGE)
# These run a program; CI runs them on one (.ci/every_command.py).
RUNS = ("traceq record ", "traceq experiment ")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return traceq.ingest(DEMO, tmp_path_factory.mktemp("skill") / "demo.duckdb").database


def words_of(command, database):
    stands = {"TRACE": str(database), "BASE": str(database), "NEW": str(database)}
    return [stands.get(word, word) for word in shlex.split(command)[1:]]


def test_the_front_matter_is_what_agents_read():
    _, head, body = PAGE.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert list(fields) == ["name", "description"]
    assert fields["name"] == "traceq"
    assert 100 < len(fields["description"]) <= 1024
    assert "Use when" in fields["description"]
    assert body.startswith("\n# ")
    assert len(PAGE.splitlines()) < 200


def test_every_kind_of_example_is_found():
    assert {command.split()[1] for command in COMMANDS} >= {
        "record",
        "report",
        "explain",
        "whatif",
        "experiment",
        "verify",
        "compare",
        "log",
        "sql",
        "doctor",
        "help",
        "mcp",
    }
    assert [call.partition("(")[0] for call in CALLS] == ["open", "finding", "sql", "whatif", "compare"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_exists_with_its_options(command, database):
    name, *words = words_of(command, database)
    found = main.get_command(click.Context(main), name)
    assert found is not None
    found.make_context(name, words, parent=click.Context(main, **main.context_settings))


@pytest.mark.parametrize("command", [each for each in COMMANDS if not each.startswith((*RUNS, "traceq mcp"))])
def test_each_command_runs(command, database, tmp_path, monkeypatch):
    from traceq.runs.program_log import LogEntry, append_entries

    monkeypatch.chdir(tmp_path)
    entry = LogEntry("2026-11-30T00:00:00Z", "record", number="F1", rule="item-read", finding_id="item-read")
    append_entries(tmp_path / "traces", [entry])
    outcome = CliRunner().invoke(main, words_of(command, database))
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout


@pytest.mark.parametrize("task", re.findall(r"--task (\w+)", PAGE))
def test_each_task_has_a_query(task):
    assert CliRunner().invoke(main, ["tables", "--task", task]).exit_code == 0


def test_each_call_of_a_tool_runs(database):
    with Session() as session:
        for call in CALLS:
            tree = ast.parse(call.replace("TRACE", str(database)).replace("NEW", str(database)), mode="eval").body
            arguments = {each.arg: ast.literal_eval(each.value) for each in tree.keywords}
            assert getattr(session, tree.func.id)(**arguments).text


def test_tools_named_are_those_of_the_server():
    from traceq.cli.mcp import make_server

    pytest.importorskip("mcp")
    with Session() as session:
        tools = {tool.name for tool in make_server(session)._tool_manager.list_tools()}
    (named,) = re.findall(r"serves the tools (.*?);", PAGE)
    assert set(re.findall(r"`(\w+)`", named)) == tools


def test_limits_named_are_those_of_the_server():
    from traceq.app import agents
    from traceq.reports.mcp.budget import MOST

    assert f"at most {MOST:,} characters" in PAGE
    assert f"at most {agents._MOST_ROWS} rows, {agents._LONGEST_QUERY} s" in PAGE


def test_the_command_prints_and_installs_it(tmp_path):
    assert CliRunner().invoke(main, ["mcp", "--skill"]).stdout == PAGE
    folder = tmp_path / ".claude" / "skills"
    for _ in range(2):
        outcome = CliRunner().invoke(main, ["mcp", "--install-skill", str(folder)])
        assert (outcome.exit_code, outcome.stdout) == (0, f"{folder / 'traceq' / 'SKILL.md'}\n")
        assert (folder / "traceq" / "SKILL.md").read_text("utf-8") == PAGE
    (tmp_path / "file").write_text("")
    outcome = CliRunner().invoke(main, ["mcp", "--install-skill", str(tmp_path / "file" / "below")])
    assert outcome.exit_code == 1
    assert "cannot be made: Not a directory; choose another folder" in outcome.stderr
