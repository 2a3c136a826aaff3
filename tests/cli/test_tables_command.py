from __future__ import annotations

import json

import duckdb
import pytest

from traceq.cli.tables import write_dictionary
from traceq.database import catalogue
from traceq.database.questions import list_questions


def test_every_table_and_view_has_a_line(traceq):
    lines = traceq("tables").stdout.splitlines()
    assert any(line.startswith("trace ") and line.endswith("One row per ingested file.") for line in lines)
    assert any(line.split()[:2] == ["kernel", "view"] for line in lines)


@pytest.mark.parametrize("name", ["step", "STEP"])
def test_a_table_lists_its_columns(traceq, name):
    lines = traceq("tables", name).stdout.splitlines()
    assert lines[0].startswith("One row per training step")
    assert lines[2].split() == ["column", "type", "meaning"]
    assert any(line.split()[:2] == ["gpu_ts", "bigint"] for line in lines)


def test_a_macro_says_how_it_is_called(traceq):
    assert traceq("tables", "interval_gaps").stdout.startswith("interval_gaps(intervals): One row per key and stretch")


def test_markdown_without_a_name_is_the_whole_dictionary(traceq):
    stdout = traceq("tables", "--format", "md").stdout
    assert stdout.startswith("# Tables\n")
    assert "\n## gpu_slice\n" in stdout


def test_a_wrong_name_says_what_is_close(traceq):
    outcome = traceq("tables", "kernels")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert (
        outcome.stderr
        == "traceq: error: no table or view is called 'kernels'; did you mean: kernel, kernel_stall, graph_kernel?\n"
    )


@pytest.fixture
def documented():
    with duckdb.connect() as connection:
        connection.execute(
            "create table a (x int, y int); create table b (x int, z int); create table _private (x int);"
            "comment on column a.x is 'x of a'; comment on column b.x is 'x of b';"
            "comment on column b.z is 'a | b <c>';"
            "create view v as select a.x, b.z, y + 1 as more from a join b using (x);"
            "create view _hidden as from a"
        )
        yield connection


def test_a_view_column_means_what_it_means_in_the_first_table_read(documented):
    *_, view = catalogue.list_tables(documented)
    assert {c.name: c.comment for c in view.columns} == {"x": "x of a", "z": "a | b <c>", "more": ""}


def test_private_names_are_left_out(documented):
    assert [table.name for table in catalogue.list_tables(documented)] == ["a", "b", "v"]


def test_the_page_shows_comments_as_they_are(documented):
    assert r"| z | integer | a \| b &lt;c&gt; |" in write_dictionary(catalogue.list_tables(documented))


def test_json_has_every_table_with_its_columns(traceq):
    (kernel,) = json.loads(traceq("tables", "kernel", "--format", "json").stdout)
    assert (kernel["name"], kernel["kind"], kernel["columns"][0]["name"]) == ("kernel", "view", "trace_id")
    everything = json.loads(traceq("tables", "--format", "json").stdout)
    assert kernel in everything
    *listed, empty, hint = traceq("tables").stdout.splitlines()
    assert len(everything) == len(listed) - 2
    assert (empty, "traceq tables --task" in hint) == ("", True)


def test_tasks_are_listed_with_the_question_that_each_answers(traceq):
    lines = traceq("tables", "--task").stdout.splitlines()
    assert lines[0].split() == ["task", "question"]
    assert [line.split()[0] for line in lines[2:]] == [each.name for each in list_questions()]
    assert max(map(len, lines)) < 80


def test_the_query_of_a_task_is_printed_with_what_it_answers_and_can_be_piped(traceq, database):
    printed = traceq("tables", "--task", "kernels").stdout
    assert printed.startswith("-- Top kernels per step\n-- Means per step that counts")
    piped = traceq("sql", database, "-", "--format", "csv", input=printed)
    assert piped.stdout == traceq("sql", database, "--task", "kernels", "--format", "csv").stdout
    assert piped.stdout.startswith('"trace_id","device","ms_per_step"')


def test_tasks_as_markdown_and_json(traceq):
    page = traceq("tables", "--format", "md").stdout
    index = traceq("tables", "--task", "--format", "md").stdout
    section = traceq("tables", "--task", "gaps", "--format", "md").stdout
    assert section.startswith("### Gaps of 1 ms and more")
    assert section in index
    assert index in page
    (gaps,) = json.loads(traceq("tables", "--task", "gaps", "--format", "json").stdout)
    assert set(gaps) == {"name", "title", "note", "query"}
    assert gaps in json.loads(traceq("tables", "--task", "--format", "json").stdout)


@pytest.mark.parametrize("command", [("tables",), ("sql", "DB")])
def test_a_wrong_task_says_what_is_close(traceq, database, command):
    outcome = traceq(*(database if word == "DB" else word for word in command), "--task", "kernel")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr == "traceq: error: no task is called 'kernel'; did you mean: kernels?\n"


def test_a_table_and_a_task_are_not_shown_at_once(traceq):
    outcome = traceq("tables", "step", "--task", "gaps")
    assert outcome.exit_code == 2
    assert "Give NAME or --task, not both." in outcome.stderr


def test_on_a_terminal_no_line_is_longer_than_it_is_wide_and_no_column_loses_its_meaning(traceq, monkeypatch):
    whole = traceq("tables", "gpu_slice").stdout
    monkeypatch.setattr("traceq.cli.tables.terminal_width", lambda: 100)
    overview, columns = traceq("tables").stdout, traceq("tables", "gpu_slice").stdout
    assert max(map(len, overview.splitlines())) <= 100
    assert max(map(len, columns.splitlines())) <= 100 < max(map(len, whole.splitlines()))
    assert "".join(columns.split()).replace("-", "") == "".join(whole.split()).replace("-", "")
