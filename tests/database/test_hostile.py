"""Databases that strangers made: nothing in them reads a file, and what is not as traceq makes it is refused in one line."""

from __future__ import annotations

import shutil
from contextlib import closing

import duckdb
import pytest

from traceq.app.open import locked
from traceq.database.connect import FAILURES, connect, one_line
from traceq.database.empty import create_database
from traceq.database.user_sql import one_line_errors, query_error, run
from traceq.errors import QueryError, StoreError

SECRET = "planted-on-this-machine"  # noqa: S105 - what must not be read


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "elsewhere" / "secret.csv"
    path.parent.mkdir()
    path.write_text(f"a\n{SECRET}\n")
    return path


@pytest.fixture
def made(tmp_path):
    """Makes a trace database with what the statements add."""

    def make(*statements):
        path = tmp_path / "t.duckdb"
        create_database(path)
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "insert into import_note by name select 1 as trace_id, 'info' as severity, 'x' as code, 1 as count, 'y' as text"
            )
            for each in statements:
                connection.execute(each)
        return path

    return make


READERS = ("read_csv", "read_text", "read_blob", "glob")


@pytest.mark.parametrize("table", ["trace", "import_note", "traceq_schema"])
def test_a_view_in_the_place_of_a_table_is_refused(made, secret, table):
    path = made(f"alter table {table} rename to own", f"create view {table} as select * from own, read_csv('{secret}')")
    with pytest.raises(StoreError, match=f"not as traceq makes it, {table} is a view there"):
        connect(path)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("read_only", [True, False])
def test_views_and_macros_read_no_file(made, secret, reader, read_only):
    path = made(
        f"create view more as from {reader}('{secret}')",
        f"create macro lower(x) as (select string_agg(m::varchar, '') from {reader}('{secret}') m)",
    )
    with closing(connect(path, read_only=read_only)) as connection:
        for query in ("from more", "select lower('A')", f"from {reader}('{secret}')", f"attach '{secret}' as other"):
            with pytest.raises(duckdb.Error) as caught:
                connection.execute(query).fetchall()
            assert SECRET not in str(caught.value)


def test_what_a_database_says_of_places_is_not_believed(made, secret):
    path = made(
        "create table traceq_place (protocol varchar, folder varchar)",
        f"insert into traceq_place values ('', '{secret.parent}'), ('no_such_protocol', 'x')",
    )
    with closing(connect(path)) as connection, pytest.raises(duckdb.PermissionException):
        connection.execute(f"from read_csv('{secret}')")


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{}/new.csv'",
        "export database '{}/new'",
        "install httpfs",
        "load httpfs",
        "from read_csv('http://127.0.0.1:9/x.csv')",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "pragma enable_profiling = 'json'",
        "set profile_output = '{}/new.json'",
        "set log_query_path = '{}/new.log'",
        "set temp_directory = '{}/new'",
        "attach '{}/new.duckdb'",
        "create secret (type s3)",
    ],
)
def test_a_query_of_anybody_changes_and_reaches_nothing(made, tmp_path, statement):
    path = made()
    before = sorted(tmp_path.rglob("*"))
    with locked(path) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(tmp_path)).fetchall()
    assert sorted(tmp_path.rglob("*")) == before


def test_tables_that_are_missing_are_named(made):
    path = made("drop table page_fault cascade")
    with pytest.raises(StoreError, match=r"lacks tables \(page_fault\)"):
        connect(path)


def test_duckdb_gives_no_advice_of_its_own(tmp_path):
    create_database(tmp_path / "t.duckdb")
    shutil.copyfile(tmp_path / "t.duckdb", tmp_path / "u.duckdb")
    with closing(connect(tmp_path / "t.duckdb", memory_limit=16 << 20)) as connection:
        connection.execute("set max_temp_directory_size = '1MB'")
        with pytest.raises(FAILURES) as caught:
            connection.execute("select max(l) from (select list(range) l from range(30000000))").fetchall()
    assert "Possible solutions" in str(caught.value)
    for said in (one_line(caught.value), str(query_error(caught.value))):
        assert "memory" in said.lower()
        assert not {"SET", "http", "Possible"} & set(said.replace(":", " ").split())


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select list_transform([1], x -> x + 1)", "lambda x, i: x + i, before DuckDB's next release"),
        ("select st_point(1, 2)", "it exists in the spatial extension; traceq loads no extensions"),
        ("select error('Possible solutions: none')", "Possible solutions: none"),
    ],
)
def test_sql_of_users_gets_no_advice_of_duckdb(made, query, said):
    with locked(made()) as connection, pytest.raises(QueryError) as caught, one_line_errors():
        run(connection, query).fetchall()
    assert str(caught.value).endswith(said)


def test_text_that_is_too_long_for_arrow_is_told_without_settings():
    told = "Arrow Appender: ... regular string buffers is 2 but the offset of 3 exceeds this.\n* SET arrow_large_buffer_size=true"
    assert str(query_error(duckdb.Error(told))) == (
        "Arrow Appender: ... regular string buffers is 2 but the offset of 3 exceeds this; "
        "take a part of each text, as substring(x, 1, 1000) does"
    )
