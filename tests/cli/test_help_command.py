"""traceq help: what to type for a task, and the help of commands."""

from __future__ import annotations

import re
import shlex
import shutil
from importlib import resources
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from command_lines import parse_command

from traceq.cli import main

ROOT = Path(__file__).parents[2]
PAGE = resources.files("traceq").joinpath("cli/tasks.txt").read_text("utf-8")
WIDTH, HEIGHT = 100, 60

# A task, the command behind it, or a second command for the task above; any other line begins a group.
LINE = re.compile(r"  (?P<task>.*?) {2,}(?P<command>traceq .+)")
COMMANDS = [match["command"] for line in PAGE.splitlines() if (match := LINE.fullmatch(line))]

# What needs a program to train, several runs, or a trace of several ranks, is parsed only.
NOT_RUN = {"collectives", "record", "experiment", "mcp", "shell", "tradeoff", "noise", "verify", "history", "log"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Make the files that the words in capitals on the page name, in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("FOLDER").mkdir()
    source = ROOT / "fixtures" / "run" / "kineto_2026.json.gz"
    for name in ("TRACE", "BASE", "NEW", "RUN", "FOLDER/rank0.json.gz"):
        shutil.copyfile(source, name)
    shutil.copyfile(ROOT / "fixtures" / "run_logs" / "failures" / "train.log", "LOG")
    shutil.copytree(ROOT / "fixtures" / "hangs" / "skip", "DUMPS")
    shutil.copytree(ROOT / "fixtures" / "compile_logs", "TORCH_TRACE_FOLDER")
    return tmp_path


def test_the_page_fits_a_screen_and_has_a_command_on_every_line_of_a_task():
    lines = PAGE.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= HEIGHT
    assert all(LINE.fullmatch(line) for line in lines if line.startswith("  "))
    assert len(COMMANDS) > 30
    assert len({line.index("traceq") for line in lines if line.startswith("  ")}) == 1


def test_the_page_names_commands_of_every_group_that_is_used_by_hand():
    named = {command.split()[1] for command in COMMANDS}
    for title, commands in main.groups.items():
        assert title == "Maintain" or named & commands.keys(), title


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_is_understood(command):
    parse_command(command).close()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", ["traceq TRACE --task gaps", "traceq check", "traceq nothing"])
def test_a_command_that_does_not_exist_so_is_noticed(command):
    with pytest.raises(click.UsageError):
        parse_command(command)


def runnable():
    for command in COMMANDS:
        words = shlex.split(command)[1:]
        # The fixture has one rank, 0.
        if words[0] not in NOT_RUN and "--rank" not in words:
            yield pytest.param(words, id=command.removeprefix("traceq "))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder in which the trace is read once."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.mark.usefixtures("files")
@pytest.mark.sample(4)
@pytest.mark.parametrize("words", list(runnable()))
def test_the_command_does_it(traceq, cache, monkeypatch, words):
    monkeypatch.delenv("TRACEQ_NO_CACHE")
    monkeypatch.setenv("TRACEQ_CACHE", cache)
    if words[0] == "check":
        assert traceq("baseline", "save", "main", "BASE").exit_code == 0
    outcome = traceq(*words)
    assert outcome.exit_code == 0, outcome.output
    named = [words[at + 1] for at, word in enumerate(words) if word == "-o"]
    assert all(Path(name).stat().st_size for name in named)
    assert named or outcome.stdout.count("\n") > 1 or words[0] == "baseline"


def test_help_tasks_prints_the_page(traceq):
    assert traceq("help", "tasks").stdout == PAGE


@pytest.mark.parametrize("words", [(), ("sql",), ("baseline",), ("baseline", "save"), ("rules", "test"), ("help",)])
def test_help_of_a_command_is_what_its_option_prints(traceq, words):
    shown = traceq("help", *words)
    assert shown.stdout == traceq(*words, "--help").stdout
    assert shown.stdout.startswith(" ".join(("Usage: traceq", *words)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("taks",), "There is no command 'taks'. Did you mean 'tasks' or 'tables'?"),
        (("baseline", "saev"), "There is no command 'saev'. Did you mean 'save'?"),
        (("dataset", "zzz"), "There is no command 'zzz'. There are list, drop, compact, verify."),
        (("sql", "kernel"), "traceq sql has no commands of its own."),
    ],
)
def test_help_of_no_command_says_what_there_is(traceq, words, said):
    outcome = traceq("help", *words)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert said in outcome.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [(("ta",), ["tasks", "tables"]), (("baseline", "s"), ["save", "show"]), (("sql", ""), [])],
)
def test_topics_complete(words, found):
    *typed, begun = words
    made = ShellComplete(main, {}, "traceq", "_TRACEQ_COMPLETE")
    assert [each.value for each in made.get_completions(["help", *typed], begun)] == found
