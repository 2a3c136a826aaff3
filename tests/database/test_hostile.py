"""Databases that strangers made: nothing in them reads a file, and what is not as traceq makes it is refused in one line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from builder import TraceBuilder

import traceq
from traceq.app.open import open_locked
from traceq.common.limits import Limits, within
from traceq.database import times, untrusted
from traceq.database.connect import SCHEMA, SCHEMA_VERSION, connect, create_schema
from traceq.database.empty import create_database
from traceq.database.failures import FAILURES, one_line
from traceq.database.sql import package, statement
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
    with pytest.raises(StoreError, match=f"not as traceq makes it: {table} is a view"):
        connect(path)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("read_only", [True, False])
def test_views_and_macros_read_no_file(made, secret, reader, read_only):
    path = made(
        f"create view more as from {reader}('{secret}')",
        f"create macro low(x) as (select string_agg(m::varchar, '') from {reader}('{secret}') m)",
    )
    with closing(connect(path, read_only=read_only)) as connection:
        for query in ("from more", "select low('A')", f"from {reader}('{secret}')", f"attach '{secret}' as other"):
            with pytest.raises(duckdb.Error) as caught:
                connection.execute(query).fetchall()
            assert SECRET not in str(caught.value)


@pytest.mark.parametrize("taken", ["read_text('{secret}')", "(select content from read_text('{secret}'))", "read(a)"])
def test_no_generated_column_reads_a_file(made, secret, taken):
    taken = taken.format(secret=secret)
    path = made("create table more (a integer)", f"create macro read(x) as (select content from read_text('{secret}'))")
    with duckdb.connect(str(path)) as connection, pytest.raises(duckdb.Error, match=r"table function|subquery"):
        connection.execute(f"create table generated (a integer, b varchar as ({taken}))")


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
    with open_locked(path) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(tmp_path)).fetchall()
    assert sorted(tmp_path.rglob("*")) == before


def test_tables_that_are_missing_are_named(made):
    path = made("drop table page_fault cascade")
    with pytest.raises(StoreError, match=r"lacks tables \(page_fault\)"):
        connect(path)


def test_duckdb_gives_no_advice_of_its_own(tmp_path):
    create_database(tmp_path / "t.duckdb")
    shutil.copyfile(tmp_path / "t.duckdb", tmp_path / "u.duckdb")
    with within(Limits(16 << 20)), closing(connect(tmp_path / "t.duckdb")) as connection:
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
    with open_locked(made()) as connection, pytest.raises(QueryError) as caught, one_line_errors():
        run(connection, query).fetchall()
    assert str(caught.value).endswith(said)


def test_text_that_is_too_long_for_arrow_is_told_without_settings():
    told = "Arrow Appender: ... regular string buffers is 2 but the offset of 3 exceeds this.\n* SET arrow_large_buffer_size=true"
    assert str(query_error(duckdb.Error(told))) == (
        "Arrow Appender: ... regular string buffers is 2 but the offset of 3 exceeds this; "
        "take a part of each text, as substring(x, 1, 1000) does"
    )


FOREVER = "(select count_star() from range(1000000000000))"


@pytest.mark.parametrize(
    "macro", ["count(x)", "SUM(x)", "round(x)", '"+"(a, b)', "current_setting(x)", "list_aggregate(x, y)"]
)
def test_a_macro_in_the_place_of_a_function_is_refused(made, macro):
    name = macro.partition("(")[0].strip('"').lower()
    path = made(f"create macro {macro} as {FOREVER}")
    with pytest.raises(StoreError, match=rf"has a macro that replaces DuckDB's function {re.escape(name)}; ask its"):
        connect(path)


def test_macros_that_hide_what_there_is_are_seen(made):
    path = made(
        "create macro count(x) as 1",
        "create macro duckdb_functions() as table select 1",
        "create macro duckdb_views() as table select 1",
    )
    with pytest.raises(StoreError, match="has a macro that replaces DuckDB's function count"):
        connect(path)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (f"create or replace view kernel as select {FOREVER} as name", "view kernel"),
        ("create or replace macro _is_line(kind, name) as kind = 'line'", "macro _is_line"),
        ("create or replace macro _is_line(kind, name) as kind = 'line', (kind) as 1", "macro _is_line"),
        (
            f"create or replace macro interval_union(intervals) as table select {FOREVER} as ts, 1 as ts_end",
            "macro interval_union",
        ),
    ],
)
def test_views_and_macros_of_traceq_that_are_others_are_refused(made, statement, what):
    path = made(statement)
    with pytest.raises(StoreError, match=f"not as traceq makes it: the {what} differs; ingest the traces again"):
        connect(path)


def test_two_versions_do_not_spare_a_database_the_look(made):
    path = made("create or replace view kernel as select 1 as name", "insert into traceq_schema values (4)")
    with pytest.raises(StoreError, match="the view kernel differs"):
        connect(path)


def test_rows_of_several_schema_versions_are_refused(made):
    path = made(f"insert into traceq_schema values ({SCHEMA_VERSION - 1})")
    for older in (False, True):
        with pytest.raises(StoreError) as refused:
            connect(path, older=older)
        assert str(refused.value) == (
            f"{path}: has several schema versions ({SCHEMA_VERSION}, {SCHEMA_VERSION - 1}), so its content"
            " is unknown; ingest the traces again"
        )


# Writes a row into a database, and ends as if it were killed: the row stands in the log beside it only.
_KILLED = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("set checkpoint_threshold = '1TB'")
row = "1 as trace_id, 'info' as severity, 'z' as code, 1 as count, '' as text"
connection.execute("insert into import_note by name select " + row)
os._exit(0)
"""


def test_a_log_beside_a_database_is_read_or_named(made, tmp_path):
    path = made()
    log = path.with_name(f"{path.name}.wal")
    subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=True)
    with closing(connect(path)) as connection:
        assert connection.execute("select code from import_note order by 1").fetchall() == [("x",), ("z",)]
    written = log.read_bytes()
    for damaged in (b"junk" * 1000, bytes(4096), written[: len(written) // 2], b"W"):
        log.write_bytes(damaged)
        with pytest.raises(
            StoreError,
            match=r"t\.duckdb\.wal next to it is damaged, or does not belong to this database, .*; remove it",
        ):
            connect(path)
    other = tmp_path / "other.duckdb"
    create_database(other)
    other.with_name("other.duckdb.wal").write_bytes(written)
    with pytest.raises(StoreError, match=r"other\.duckdb: cannot be opened .*Failure while replaying WAL file"):
        connect(other)
    log.write_bytes(b"")
    connect(path).close()


def test_views_tables_and_macros_of_the_user_may_be_there(made):
    path = made(
        "create view mine as select name from kernel", "create macro twice(x) as 2 * x", "create table own (a int)"
    )
    with closing(connect(path)) as connection:
        assert connection.execute("select twice(count(*)) from mine").fetchall() == [(0,)]


def test_a_file_is_looked_at_once_and_again_when_it_was_written(made, monkeypatch):
    path = made()
    connect(path).close()
    monkeypatch.setattr(untrusted, "check", None)
    connect(path).close()
    monkeypatch.undo()
    with duckdb.connect(str(path)) as connection:
        connection.execute("create macro count(x) as 1")
    with pytest.raises(StoreError, match="DuckDB's function count"):
        connect(path)


@pytest.mark.parametrize("wanted", [True, False])
def test_what_was_looked_at_is_remembered_in_the_cache(made, monkeypatch, tmp_path, wanted):
    path = made()
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    if wanted:
        monkeypatch.delenv("TRACEQ_NO_CACHE", raising=False)
    connect(path).close()
    untrusted._sound.clear()
    assert untrusted.was_checked(path, untrusted.fingerprint(path)) == wanted


def test_who_has_no_home_can_open_a_database(made, monkeypatch):
    monkeypatch.delenv("TRACEQ_NO_CACHE", raising=False)
    monkeypatch.delenv("TRACEQ_CACHE", raising=False)
    monkeypatch.setattr(untrusted, "cache_path", lambda: Path("~nobody-of-this-name").expanduser())
    connect(made()).close()


def test_macros_that_are_not_in_the_file_yet_are_seen(made):
    path = made()
    connect(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("pragma disable_checkpoint_on_shutdown")
        connection.execute("create macro count(x) as 1")
    with pytest.raises(StoreError, match="DuckDB's function count"):
        connect(path)


def test_what_traceq_makes_is_recorded(request):
    """For the DuckDB of constraints.txt; with another one a database of others takes half a second more."""
    made = json.dumps(untrusted.hash_schema(create_schema), indent=0) + "\n"
    if request.config.getoption("--update-golden"):
        package().joinpath(untrusted.AS_MADE).write_text(made)
    assert json.loads(statement(untrusted.AS_MADE)) == json.loads(made)


def test_another_printing_of_views_is_no_other_view(made, monkeypatch):
    path = made()
    monkeypatch.setattr(untrusted, "AS_MADE", "database/other.json")
    monkeypatch.setattr(untrusted, "statement", lambda _: '{"view kernel": []}')
    connect(path).close()


A_JOB = """
insert into job by name
select
    0 as job, 0 as time_window, 1 as ranks, 0 as short_ranks, 1 as steps, 0 as communication, 0 as mismatched, 0 as violations
"""


MOST, LEAST, LATEST = 2**63 - 1, -(2**63), 2**62


def changed(small, tmp_path, statement):
    """A copy of the database in which the statement was run."""
    path = shutil.copyfile(small, tmp_path / "t.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    return path


@pytest.mark.parametrize(
    ("insert", "what"),
    [
        (f"update step set dur = {LEAST}", f"step.dur holds '{LEAST}'"),
        ("update step set dur = -1", "step.dur holds '-1'"),
        (f"update gpu_slice set dur = {MOST}", f"gpu_slice.dur holds '{MOST}'"),
        (f"update gpu_slice set ts = {LEAST}", f"gpu_slice.ts holds '{LEAST}'"),
        (f"update cpu_slice set dur = {LATEST - 1}", f"cpu_slice.dur holds '{2 * (LATEST - 1)} in all'"),
        (f"update trace set utc_origin_ns = {MOST}", f"trace.utc_origin_ns holds '{MOST}'"),
        (f"update trace set ts = {LEAST}", f"trace.ts holds '{LEAST}'"),
        ("""update trace set args = '{"a":'""", """trace.args holds '{"a":'"""),
    ],
)
def test_times_that_no_trace_has_are_named(small, tmp_path, insert, what):
    path = changed(small, tmp_path, insert)
    with pytest.raises(
        StoreError, match=f"not as traceq makes it, {re.escape(what)}, which no trace has; ask its author"
    ):
        connect(path)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("update cpu_slice set depth = -7", "cpu_slice.depth holds '-7'"),
        ("update cpu_slice set thread_id = -7 where rowid = 0", "cpu_slice.thread_id holds '-7'"),
        (f"update gpu_slice set slice_id = {LEAST} where rowid = 0", f"gpu_slice.slice_id holds '{LEAST}'"),
        ("update critical_path set unexplained = -1", "critical_path.unexplained holds '-1'"),
        ("update step_stats set p95 = '-inf'", "step_stats.p95 holds '-inf'"),
        ("update kernel_occupancy set sm_coverage = 1.5", "kernel_occupancy.sm_coverage holds '1.5'"),
        (f"{A_JOB}, {LEAST} as ideal", f"job.ideal holds '{LEAST}'"),
    ],
)
def test_amounts_below_0_are_named(small, tmp_path, change, what):
    path = changed(small, tmp_path, change)
    with pytest.raises(
        StoreError, match=re.escape(f"not as traceq makes it, {what}, which no trace has; ask its author")
    ):
        connect(path)


@pytest.mark.parametrize("difference", ["-5 as win", "-0.5 as clock_drift", f"{LEAST + 1} as clock_offset"])
def test_differences_may_be_below_0(small, tmp_path, difference):
    of_a_rank = "0 as job, 0 as time_window, 0 as unit, 1 as trace_id, 'file' as rank_source, 0 as clock_samples"
    path = changed(small, tmp_path, f"insert into job_rank by name select {of_a_rank}, {difference}")
    connect(path).close()


@pytest.mark.parametrize("slice_id", [1 << 40, MOST])
def test_reports_take_no_memory_for_slice_ids_that_are_not_there(small, tmp_path, slice_id):
    path = changed(
        small,
        tmp_path,
        f"update cpu_slice set slice_id = {slice_id} where slice_id = (select max(slice_id) from cpu_slice)",
    )
    assert "<html" in traceq.report(path).to_html()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("insert into trace by name from trace", "trace has a row twice"),
        ("insert into device by name from device", "device has a row twice"),
        ("insert into thread by name from thread", "thread has a row twice"),
        ("insert into step by name select * exclude (ts_end) from step", "step has a row twice"),
        ("insert into step_stats by name from step_stats", "step_stats has a row twice"),
        (f"{A_JOB} from range(2)", "job has a row twice"),
        ("update cpu_slice set slice_id = 0", "cpu_slice has a row twice"),
        ("insert into gpu_slice by name select * exclude (ts_end) from gpu_slice", "gpu_slice has a row twice"),
        ("insert into idle_gap by name select * exclude (ts_end) from idle_gap", "idle_gap has a row twice"),
        ("delete from step_stats", "step_stats lacks a trace"),
        ("update step_stats set steps = 0", "step_stats lacks a trace"),
    ],
)
def test_rows_that_are_there_twice_or_lacking_are_named(small, tmp_path, change, what):
    path = changed(small, tmp_path, change)
    with pytest.raises(StoreError, match=f"not as traceq makes it, {what}; ingest the traces again, or ask its author"):
        connect(path)


def test_what_looks_voids_what_was_remembered_when_it_changes(made, monkeypatch):
    path = made()
    before = untrusted.fingerprint(path)
    assert untrusted.fingerprint(path) == before
    monkeypatch.setattr(untrusted, "code_hash", lambda *_: "another")
    assert untrusted.fingerprint(path) != before


def test_each_table_with_times_is_looked_at():
    with closing(duckdb.connect()) as connection:
        create_schema(connection)
        found = connection.execute(
            "select table_name, column_name from duckdb_columns() join duckdb_tables() using (table_name)"
            " where data_type = 'BIGINT' and column_name in ('ts', 'dur', 'gpu_ts', 'gpu_dur', 'utc_origin_ns')"
        ).fetchall()
    assert sorted(times._find_times(SCHEMA)) == sorted(found)


def test_a_look_for_an_upgrade_is_not_the_whole_look(small, tmp_path):
    path = changed(small, tmp_path, "update step set dur = -1")
    connect(path, older=True).close()
    with pytest.raises(StoreError, match=r"step\.dur holds"):
        connect(path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100)
    trace.kernel("gemm", 5, 95, launched=(4, 1))
    trace.build(folder)._connection.close()
    return folder / "trace.duckdb"
