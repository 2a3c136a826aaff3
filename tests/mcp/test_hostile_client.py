"""Questions of a hostile client are answered, in bounded time and memory, and the session goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import traceq
from traceq.app.agents import Session
from traceq.common.child import Child

DEMO = Path(__file__).parents[2] / "traceq" / "app" / "demo" / "training.pt.trace.json.gz"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The database of the demo."""
    return str(traceq.ingest(DEMO, tmp_path_factory.mktemp("hostile") / "demo.duckdb").database)


def test_a_query_that_is_bound_for_ever_ends_alone(database, monkeypatch):
    monkeypatch.setattr("traceq.app.agents._LONGEST_QUERY", 0.2)
    monkeypatch.setattr("traceq.app.agent_queries._GRACE", 1.0)
    doubling = "create temp macro twice(x) as x + x; select " + "twice(" * 40 + "1" + ")" * 40
    with Session() as session:
        with pytest.raises(traceq.QueryError, match=r"^the query was stopped after 0\.2 s: query less at a time$"):
            session.sql(database, doubling)
        monkeypatch.undo()
        assert session.sql(database, "select 42 as x").data["rows"] == [[42]]


def test_a_query_whose_process_ends_is_an_error_and_the_next_has_another(database):
    with Session() as session:
        session.sql(database, "select 1")
        session._queries._child.stop()
        with pytest.raises(traceq.QueryError, match=r"^the process of the query ended \(signal 9\): ask again"):
            session.sql(database, "select 1")
        assert session.sql(database, "select 42 as x").data["rows"] == [[42]]


def test_a_query_that_needs_too_much_memory_is_told_so(database, monkeypatch):
    monkeypatch.setattr("traceq.app.agent_queries._answer_query", raise_memory_error)
    with Session() as session, pytest.raises(traceq.QueryError, match="more memory than there is"):
        session.sql(database, "select 1")


def raise_memory_error(*_):
    """Do what a query does that needs too much memory."""
    raise MemoryError


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "the process of the query ended (signal 11)"),
        ("raise SystemExit(3)", "the process of the query ended (exit code 3)"),
        ("import time; time.sleep(60)", "the process of the query did not start in"),
        (None, "the process of the query cannot be started: No such file or directory"),
    ],
)
def test_a_process_that_does_not_start_is_told_as_that(database, tmp_path, monkeypatch, program, said):
    monkeypatch.setattr("traceq.app.agent_queries._LONGEST_START", 60 if program and "sleep" not in program else 0.3)
    (tmp_path / "start_badly.py").write_text(f"{program}\ndef main(): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("traceq.app.agent_queries.Child", lambda _module: Child("start_badly"))
    if program is None:
        monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with Session() as session, pytest.raises(traceq.QueryError) as error:
        session.sql(database, "select 1")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("repeat('é', 9000)", "é" * 149 + "…" + "é" * 50),
        ("'ab'::blob", "YWI="),
        ("[1, 2]", [1, 2]),
        ("{'a': repeat('x', 20)}", {"a": "x" * 20}),
        ("map {'a': 1}", {"a": 1}),
        ("null", None),
    ],
)
def test_values_are_cut_before_they_are_read(database, value, shown):
    with Session() as session:
        assert session.sql(database, f"select {value} as v").data["rows"] == [[shown]]


def test_a_nested_value_without_end_is_refused(database):
    said = "a value has more than 800000 characters: take a part of it"
    with Session() as session, pytest.raises(traceq.QueryError, match=said):
        session.sql(database, "select [repeat('x', 1000000)] as v")


def test_an_empty_path_names_nothing():
    with Session() as session, pytest.raises(traceq.WrongUse, match="The path is empty"):
        session.open("")


def test_the_progress_of_a_long_query_is_no_answer(database):
    with Session() as session:
        found = session.sql(database, "select count(*) as n from range(3000000) a, range(4000) b where a.range % 7 = 9")
        assert found.data["rows"] == [[0]]
