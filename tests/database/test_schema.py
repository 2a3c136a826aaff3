"""The schema is a public contract: every change of it shows in a golden text, and every table and column explains itself."""

from __future__ import annotations

import pytest

from traceq.database import catalogue

PRIVATE = "_"


@pytest.fixture(scope="module")
def connection():
    with catalogue.empty_database() as connection:
        yield connection


@pytest.fixture(scope="module")
def objects(connection):
    return catalogue.list_tables(connection)


def test_columns_are_the_ones_agreed_on(connection, objects, golden):
    required = {
        tuple(row)
        for row in connection.execute(
            "select table_name, column_name from duckdb_columns() where not internal and not is_nullable"
        ).fetchall()
    }
    lines = []
    for each in objects:
        lines.append(f"{each.kind} {each.name}")
        for column in each.columns:
            suffix = " not null" if (each.name, column.name) in required else ""
            lines.append(f"    {column.name} {column.type.lower()}{suffix}")
    lines += [f"macro {each.comment.partition(':')[0]}" for each in catalogue.list_macros(connection)]
    golden.check("schema.txt", "\n".join(lines) + "\n")


def test_every_table_view_and_column_says_what_it_is(objects):
    silent = [each.name for each in objects if not each.comment.strip()]
    silent += [
        f"{each.name}.{column.name}" for each in objects for column in each.columns if not column.comment.strip()
    ]
    assert silent == []


def test_every_macro_of_rows_says_what_one_row_is_and_others_what_they_return(connection):
    silent = [each.name for each in catalogue.list_macros(connection) if "): One row per " not in each.comment]
    scalar = connection.execute(
        "select function_name from duckdb_functions() where not internal and function_type = 'macro'"
    ).fetchall()
    assert {*silent} <= {name for (name,) in scalar}
    assert [each.name for each in catalogue.list_macros(connection) if each.comment.endswith("): ")] == []


def test_every_table_has_comments_of_its_own(connection):
    silent = connection.execute(
        "select table_name, column_name from duckdb_columns()"
        " where not internal and comment is null and table_name in (select table_name from duckdb_tables())"
    ).fetchall()
    assert silent == []


def test_tables_say_what_one_row_is(objects):
    assert [each.name for each in objects if each.kind == "table" and not each.comment.startswith("One row")] == []


def test_what_is_not_the_same_in_every_database_has_the_trace_or_the_job(objects):
    without = [each.name for each in objects if not {"trace_id", "job"} & {column.name for column in each.columns}]
    assert set(without) == {"traceq_schema", "gpu_model", "gpu_architecture"}


def test_nothing_private_is_left_in_the_database(connection):
    names = [
        name for (name,) in connection.execute("select table_name from duckdb_columns() where not internal").fetchall()
    ]
    assert [name for name in names if name.startswith(PRIVATE)] == []


def test_times_sizes_and_counts_are_integers(objects):
    durations = {
        column.type
        for each in objects
        for column in each.columns
        if column.name in ("ts", "dur", "ts_end", "gpu_ts", "gpu_dur", "bytes") and each.name != "step_stats"
    }
    assert durations == {"BIGINT"}
