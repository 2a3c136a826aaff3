"""What a shell completes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import duckdb
import pytest
from click.shell_completion import ShellComplete

from traceq.app.cache import last_of
from traceq.cli import main


def items(*words):
    made = ShellComplete(main, {}, "traceq", "_TRACEQ_COMPLETE")
    *typed, begun = words
    return made.get_completions(list(typed), begun)


def completed(*words):
    return [each.value for each in items(*words)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("rep",), ["report", "replay-op"]),
        (("conv",), ["convert"]),
        (("dataset", "comp"), ["compact"]),
        (("explain", "synchronous"), ["synchronous-loader"]),
        (("explain", "slow-g"), ["slow-gpu"]),
        (("explain", "waiting-n"), ["waiting-not-network"]),
        (("tables", "gpu_sl"), ["gpu_slice"]),
        (("doctor", "--plan", "mem"), ["memory"]),
        (("report", "--goal", "l"), ["latency"]),
        (("report", "--format", "js"), ["json"]),
        (("whatif", "t.json", "--remove", "idle_d"), ["idle_data", "idle_dependency"]),
        (("whatif", "t.json", "--scale", "memse"), ["memset"]),
        (("whatif", "t.json", "--overlap", "comm"), ["communication"]),
        (("whatif", "t.json", "--move", "c"), []),
        (("export", "t.json", "--table", "gpu_sl"), ["gpu_slice"]),
        (("experiment", "--try", "a"), ["all"]),
        (("report", "t.json", "--finding", ""), ["F1", "F2", "F3", "F4", "F5"]),
        (("sql", "t.json", "--task", "ga"), ["gaps"]),
        (("tables", "--task", "mem"), ["memory"]),
        (("help", "ta"), ["tasks", "tables"]),
        (("verify", "f"), ["F1", "F2", "F3", "F4", "F5"]),
    ],
)
def test_names_are_completed(words, found):
    assert completed(*words) == found


def commands(command=main, path=()):
    """Every command with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from commands(command.get_command(context, name), (*path, name))


# Words of metavars that are files, or names of baselines in their place.
FILES = re.compile(r"FILE|PATH|DIR|SOURCE|TRACE|BASE|DB|DATASET|TARGET|RUN|LOG|NEW|COMMAND")


def test_every_command_that_takes_files_completes_them():
    assert [each.type for each in items("trace_of_rank_3")] == ["file"]
    for path, command in commands():
        context = click.Context(command, info_name=path[-1])
        for each in command.params:
            shown = each.make_metavar(context)
            if getattr(each, "is_flag", False) or not FILES.search(shown) or isinstance(each.type, click.Choice):
                continue
            types = {item.type for item in each.shell_complete(context, "./")}
            assert types in ({"file"}, {"dir"}), (path, each.name)


def test_the_last_option_that_takes_several_files_completes_them():
    assert [each.type for each in items("verify", "F1", "--before", "a.duckdb", "b")] == ["file"]


@pytest.fixture
def judged(database):
    """A database with two findings."""
    content = json.dumps({"findings": [{"title": title} for title in ("Load ahead", "Pin")]})
    with duckdb.connect(str(database)) as connection:
        connection.execute("insert into judgement values (1, 'throughput', '', ?)", [content])
    return database


def test_findings_of_the_database_on_the_line_are_completed(judged):
    found = items("report", str(judged), "--finding", "f")
    assert [(each.value, each.help) for each in found] == [("F1", "Load ahead"), ("F2", "Pin")]
    assert completed(str(judged), "--finding", "") == completed("sql", str(judged), "--of", "F") == ["F1", "F2"]


def test_findings_of_a_trace_come_from_the_cache_and_the_trace_is_not_read(judged, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    trace = tmp_path / "t.json"
    trace.write_text("not read")
    assert completed("report", str(trace), "--finding", "F") == ["F1", "F2", "F3", "F4", "F5"]
    entry = tmp_path / "cache" / f"t.json-{'0' * 32}.duckdb"
    shutil.copyfile(judged, entry)
    assert last_of(trace) == entry
    assert completed("report", str(trace), "--finding", "F") == ["F1", "F2"]


def test_names_of_baselines_are_completed_and_files_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEQ_BASELINES", str(tmp_path))
    (tmp_path / "main.json").touch()
    assert completed("baseline", "show", "m") == completed("compare", "m") == ["main"]
    assert [each.type for each in items("compare", "x")] == ["file"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_files_and_findings(judged, tmp_path):
    """The functions that `traceq completion bash` defines are called as bash calls them for a Tab."""
    program = tmp_path / "traceq"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m traceq "$@"\n')
    program.chmod(0o755)
    script = f"""
    eval "$(traceq completion bash)"
    compopt() {{ echo compopt "$@"; }}
    tab() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _traceq_completion traceq; echo "${{COMPREPLY[*]}}"; }}
    tab traceq report my_tr
    tab traceq report '{judged}' --finding ''
    """
    there = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(["bash", "-c", script], env=there, capture_output=True, text=True, check=True)
    assert done.stdout == "compopt -o default\n\nF1 F2\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(traceq, shell):
    script = traceq("completion", shell).stdout
    assert "_TRACEQ_COMPLETE" in script
    files = {"bash": "compopt -o default", "zsh": "_path_files -f", "fish": "__fish_complete_path"}
    assert files[shell] in script


def test_completing_a_command_loads_no_engine():
    code = "import sys, traceq.cli.explain; print({'duckdb', 'pyarrow', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
