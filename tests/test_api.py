"""`import traceq`: its names, and a database opened in Python."""

from __future__ import annotations

import inspect
from importlib import import_module

import duckdb
import pytest

import traceq
from traceq import errors
from traceq.app.read_options import CompareOptions
from traceq.app.whatif_platform_request import PlatformRequest
from traceq.app.whatif_request import WhatIfRequest
from traceq.common.limits import limits
from traceq.database.empty import create_database


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "t.duckdb"
    create_database(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("insert into step by name select 1 as trace_id, i as step, 's' as name, 'x' as source,"
                           " i * 10 as ts, 10 as dur from range(3) t(i)")  # fmt: skip
    return path


@pytest.fixture
def traces(database):
    with traceq.open(database) as traces:
        yield traces


def test_every_public_name_is_there_and_listed():
    assert {"open", "ingest", "Traces", "TraceqError"} <= set(traceq.__all__) <= set(dir(traceq))
    for name in traceq.__all__:
        assert getattr(traceq, name) is not None


def test_every_error_is_public():
    ours = {name for name, each in vars(errors).items() if inspect.isclass(each)}
    assert ours <= set(traceq.__all__)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nope'"):
        traceq.nope  # noqa: B018 - the access is the test


def test_a_query_gives_frames_tables_and_tuples(traces):
    steps = "select step, dur from step order by step"
    assert traces.sql(steps).fetchall() == [(0, 10), (1, 10), (2, 10)]
    assert traces.sql(steps).df()["step"].tolist() == [0, 1, 2]
    assert traces.sql(steps).to_arrow_table().num_rows == 3


def test_parameters_by_place_and_by_name(traces):
    assert traces.sql("select step from step where ts > ?", [10]).fetchall() == [(2,)]
    assert traces.sql("select step from step where ts = $ts", {"ts": 10}).fetchall() == [(1,)]


def test_of_several_statements_the_last_is_the_result(traces):
    assert traces.sql("create temp table x as select 5; select * from x").fetchall() == [(5,)]


def test_a_relation_lives_on_after_another_query(traces):
    first = traces.sql("select count(*) from step")
    traces.sql("select 1").fetchall()
    assert first.fetchall() == [(3,)]


@pytest.mark.parametrize(
    "statement",
    [
        "set lock_configuration = false",
        "set memory_limit = '1TB'",
        "set home_directory = '/'",
        "SET /* */ threads = 1",
        "reset memory_limit",
        "pragma memory_limit = '1TB'",
        "pragma enable_profiling",
        "call enable_logging(storage = 'file', storage_path = '{}')",
        "select 1; call enable_logging()",
        'from system.main."Enable_Logging"()',
        "from query('from enable_' || 'logging()')",
        "explain analyze from query('from enable_' || 'logging()')",
        "create temp table x as from query('from enable_' || 'logging()')",
        "set variable x = (select count(*) from query('from enable_' || 'logging()'))",
        "create temp view v as from query('from enable_' || 'logging()')",
        "create temp macro m() as table from query /**/ ('from enable_' || 'logging()')",
        "pivot (from step, query('from enable_' || 'logging()')) on name using sum(dur)",
        "from json_execute_serialized_sql('{{}}')",
        "prepare p as from query('from enable_' || 'logging()')",
        "update extensions",
    ],
)
def test_no_statement_changes_a_setting(traces, tmp_path, statement):
    settings = "select name, value from duckdb_settings() where name not like 'errors_as_json' order by name"
    before = traces.sql(settings).fetchall()
    with pytest.raises(traceq.QueryError, match="settings are fixed here"):
        traces.sql(statement.format(tmp_path / "log")).fetchall()
    assert traces.sql(settings).fetchall() == before
    assert not (tmp_path / "log").exists()


def test_what_only_looks_like_a_setting_works(traces):
    assert traces.sql("set variable x = 10; select step from step where ts = getvariable('x')").fetchall() == [(1,)]
    assert traces.sql("from query('select ' || 1)").fetchall() == [(1,)]
    assert traces.sql(
        "create temp table y as from step; insert into y from step; select count(*) from y"
    ).fetchall() == [(6,)]
    assert traces.sql("pivot step on name using sum(dur) group by source").fetchall() == [("x", 30)]
    assert traces.sql("use main; pragma table_info('step')").fetchall()[0][1] == "trace_id"
    assert traces.sql("explain analyze select 1").fetchall()


def test_a_wrong_query_says_where(traces):
    with pytest.raises(traceq.QueryError, match=r"^line 2, column 6: Table with name missing does not exist"):
        traces.sql("select *\nfrom missing")


def test_late_errors_are_duckdbs_own_and_for_people(traces):
    relation = traces.sql("select error('late') from step")
    with pytest.raises(duckdb.Error, match=r"^Invalid Input Error: late"):
        relation.fetchall()


def test_variables_are_no_tables(traces):
    params = query = [1]
    for name in ("params", "query", "self"):
        with pytest.raises(traceq.QueryError, match="does not exist"):
            traces.sql(f"from {name}")
    assert params is query


def test_the_database_is_read_only(traces):
    with pytest.raises(traceq.QueryError, match="read-only"):
        traces.sql("delete from step")


def test_closing_closes(database):
    with traceq.open(str(database)) as traces:
        assert (traces.path, repr(traces)) == (database, f"Traces('{database}')")
    with pytest.raises(traceq.QueryError, match="closed"):
        traces.sql("select 1")
    traces.close()


def test_what_is_no_database_is_a_store_error(tmp_path):
    with pytest.raises(traceq.StoreError, match="no such trace database"):
        traceq.open(tmp_path / "missing.duckdb")


READING = (
    "report",
    "compare",
    "check",
    "noise",
    "verify",
    "tradeoff",
    "whatif",
    "whatif_choices",
    "whatif_platform",
    "doctor",
    "trim",
    "export",
)


# Options that a use case takes as one record.
BUNDLES = {"whatif": WhatIfRequest, "whatif_platform": PlatformRequest, "compare": CompareOptions}


@pytest.mark.parametrize("name", [*READING, "ingest", "compare_memory", "convert"])
def test_a_function_says_the_options_of_its_use_case_with_the_same_defaults(name):
    public = inspect.signature(getattr(traceq, name)).parameters
    used = inspect.signature(getattr(import_module(f"traceq.app.{name.removesuffix('_choices')}"), name)).parameters
    bundled = BUNDLES[name]._field_defaults if name in BUNDLES else {}
    # what the public function calls `drawn` is a scope
    left_out = ("read", "request", "options", "which", "top", "failed", "scope")
    own = {key: each.default for key, each in used.items() if key not in left_out} | bundled
    assert own == {key: public[key].default for key in own}
    assert not any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in public.values())


@pytest.mark.parametrize("name", [*READING, "ingest", "open"])
def test_functions_that_read_sources_take_what_is_said_about_traces(name):
    assert {"step_range", "steps_per", "window", "memory_limit"} <= set(
        inspect.signature(getattr(traceq, name)).parameters
    )


def test_the_limit_of_memory_of_a_call_ends_with_it(database, monkeypatch):
    seen = []
    monkeypatch.setattr("traceq.app.doctor.doctor", lambda *_arguments, **_options: seen.append(limits().memory))
    traceq.doctor(database, memory_limit=2 << 30)
    assert (seen, limits().memory) == ([2 << 30], None)
