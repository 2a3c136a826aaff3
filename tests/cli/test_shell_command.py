from __future__ import annotations

import re
import sys

import click
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from traceq.app.open import open_locked
from traceq.cli._prompt import make_completer, prompt_for, read_history
from traceq.cli.shell import ShellSession, is_ready, line_editor
from traceq.errors import MissingTool


def test_statements_are_answered_one_by_one(traceq, database):
    outcome = traceq("shell", database, input="select 1 as a; select 2\n as b;\nselect ';' as c -- ;\n;")
    assert (outcome.exit_code, outcome.output) == (0, "a\n-\n1\nb\n-\n2\nc\n-\n;\n")


def test_a_last_statement_needs_no_semicolon(traceq, database):
    assert traceq("shell", database, input="select 1 as a").stdout == "a\n-\n1\n"


def test_an_error_is_one_line_and_the_next_statement_runs(traceq, database):
    outcome = traceq("shell", database, input="select 1 as a;\nselect 2; select\n nope;\nselect 3 as c;\n")
    assert outcome.stdout.endswith("c\n-\n3\n")
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.startswith("error: line 2, column 2: ")
    assert outcome.exit_code == 1


def test_the_database_is_read_only(traceq, database):
    before = database.read_bytes()
    outcome = traceq("shell", database, input="delete from gpu_slice;\ncopy kernel to 'x.csv';\n")
    assert outcome.stderr.count("\n") == 2
    assert database.read_bytes() == before


def test_dot_commands(traceq, database):
    outcome = traceq("shell", database, input=".tables\n.schema kernel;\n.help\n.quit\nselect 1;")
    assert outcome.exit_code == 0
    assert re.search(r"^gpu_slice +table  One row per thing a GPU did", outcome.stdout, re.MULTILINE)
    assert "dur                    bigint   Duration on the device, ns." in outcome.stdout
    assert ".schema NAME" in outcome.stdout
    assert "1\n" not in outcome.stdout.splitlines()


def test_tasks_are_listed_and_run(traceq, database):
    listed = traceq("shell", database, input=".task\n")
    assert listed.stdout == traceq("tables", "--task").stdout
    answered = traceq("shell", database, input=".task streams;\n")
    assert answered.stdout == traceq("sql", database, "--task", "streams").stdout
    assert answered.stdout.startswith("trace_id  device  stream  bin")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".task gap", "error: no task is called 'gap'; did you mean: gaps?"),
        (".nope", "error: no command .nope; the commands are .tables, "),
        (".schema kernal", "error: no table or view is called 'kernal'; did you mean: kernel"),
        (".schema", "error: no table or view is called ''; did you mean: "),
    ],
)
def test_a_wrong_dot_command_says_what_there_is(traceq, database, line, message):
    outcome = traceq("shell", database, input=f"{line}\n")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith(message)


@pytest.mark.parametrize("text", ["", " \n", ".tables", "select 1;", "select ';';", "select 1; -- and so on"])
def test_enter_ends_the_input(text):
    assert is_ready(text)


@pytest.mark.parametrize("text", ["select", "select ';", "select 1 -- ;", "select /* ;", 'select ";', "select $$;"])
def test_enter_starts_a_line(text):
    assert not is_ready(text)


def typed(keys, database):
    with (
        open_locked(database) as connection,
        create_pipe_input() as keyboard,
        create_app_session(keyboard, DummyOutput()),
    ):
        keyboard.send_text(keys)
        session = ShellSession(connection)
        session.interact(prompt_for(connection, is_ready))
        return session


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Where the history goes."""
    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path / "settings"))
    return tmp_path / "settings"


def test_typing_answers_over_several_lines_and_remembers(database, settings, capfd):
    session = typed("select 40\r+ 2 as n;\rselect nope;\r.quit\r", database)
    captured = capfd.readouterr()
    assert captured.out == " n\n--\n42\n"
    assert captured.err.startswith("error: line 1, column 8: ")
    assert session.failures == 1
    assert "+select 40\n++ 2 as n;\n" in (settings / "history").read_text()


@pytest.mark.usefixtures("settings")
def test_ctrl_c_drops_the_line_and_ctrl_d_leaves(database, capfd):
    typed("select 1\x03select 2 as n;\r\x04", database)
    assert capfd.readouterr().out == "n\n-\n2\n"


@pytest.mark.usefixtures("settings")
def test_ctrl_c_stops_a_query_and_the_next_one_runs(database, capfd, monkeypatch):
    def stopped(_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("traceq.exports.result._text_of", stopped)
    typed("from range(100000000);\rselect 2 as n;\r\x04", database)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("n\n-\n2\n", "interrupted\n")


def test_completion_knows_tables_columns_and_keywords(database):
    def offers(text):
        return [each.text for each in complete.get_completions(Document(text), None)]

    with open_locked(database) as connection:
        complete = make_completer(connection)
    assert "time_ledger" in offers("select * from time_l")
    assert "registers_per_thread" in offers("select k.regis")
    assert "having" in offers("select HAV")


def test_history_is_private_and_optional(tmp_path):
    assert isinstance(read_history(tmp_path / "new"), FileHistory)
    assert (tmp_path / "new" / "history").stat().st_mode & 0o077 == 0
    (tmp_path / "file").touch()
    assert isinstance(read_history(tmp_path / "file"), InMemoryHistory)


@pytest.mark.parametrize("package", ["prompt_toolkit", "pygments"])
def test_what_only_typing_needs_is_said_to_be_missing(database, monkeypatch, package):
    monkeypatch.delitem(sys.modules, "traceq.cli._prompt")
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with (
        open_locked(database) as connection,
        pytest.raises(MissingTool, match=rf"traceq shell needs {package}[\w.]*, .*: pip install 'prompt-toolkit>="),
    ):
        line_editor(connection)


def test_statements_are_piped_in_without_a_line_editor(traceq, database, monkeypatch):
    monkeypatch.setitem(sys.modules, "traceq.cli._prompt", None)
    assert traceq("shell", database, input="select 1 as a;").stdout == "a\n-\n1\n"
