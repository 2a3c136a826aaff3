from __future__ import annotations

import json

import duckdb
import pytest

from traceq.cli.tables import write_dictionary
from traceq.database import catalogue


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
        == "traceq: error: no table or view is called 'kernels'; did you mean: kernel, graph_kernel, compiled_kernel?\n"
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
    assert len(everything) == len(traceq("tables").stdout.splitlines()) - 2
