"""Analyses of large traces on two connections: what may run apart, in which order, and what happens when one fails."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event

import duckdb
import pytest

from traceq.analysis import order
from traceq.analysis.flow import Flow
from traceq.analysis.parallel import SecondConnection, find_earlier, split_analyses
from traceq.loading import build
from traceq.loading.ingest import ingest

FIXTURES = Path(__file__).parents[2] / "fixtures"

FLOWS = {
    "gaps": Flow(frozenset({"_host", "step"}), frozenset({"_gap", "idle_gap"})),
    "copies": Flow(frozenset({"gpu_slice"}), frozenset({"_copy", "copy"})),
    "causes": Flow(frozenset({"_gap"}), frozenset({"_cause"})),
    "overlap": Flow(frozenset({"_copy", "idle_gap"}), frozenset({"overlap"})),
    "replay": Flow(frozenset({"_cause", "copy"}), frozenset({"replay"})),
}
EARLIER = find_earlier(tuple(FLOWS), FLOWS)


def test_analyses_that_share_temporary_tables_stay_together():
    assert split_analyses(tuple(FLOWS), FLOWS, {"_host"}) == (("gaps", "causes", "replay"), ("copies", "overlap"))
    assert split_analyses(tuple(FLOWS), FLOWS, {"_host", "_copy"}) == (tuple(FLOWS), ())


def test_analyses_wait_for_those_that_make_what_they_read_or_make():
    assert {
        "gaps": set(),
        "copies": set(),
        "causes": {"gaps"},
        "overlap": {"gaps", "copies"},
        "replay": {"causes", "copies"},
    } == EARLIER
    both = {name: Flow(frozenset(), frozenset({"import_note"})) for name in ("first", "second")}
    assert find_earlier(tuple(both), both) == {"first": set(), "second": {"first"}}


@contextmanager
def started(names, run, done):
    second = SecondConnection(duckdb.connect(), names, EARLIER, run, done)
    try:
        second.start()
        yield second
    finally:
        second.close()


def test_the_first_analysis_that_is_ready_runs_next():
    ran, has_copied = [], Event()

    def run(_connection, names):
        ran.extend(names)
        has_copied.set()

    done = set()
    with started(["overlap", "copies"], run, done) as second:
        assert has_copied.wait(10)
        assert ran == ["copies"]
        done.add("gaps")
        second.wake_thread()
        second.finish()
        assert second.wait_until_ready("causes")
    assert ran == ["copies", "overlap"]
    assert done == {"gaps", "copies", "overlap"}


def test_when_memory_runs_out_the_connection_is_the_main_threads():
    def run(connection, _names):
        connection.execute("create temp table _copied as select 1")
        connection.begin()
        raise duckdb.OutOfMemoryException("failed to allocate")

    done = {"gaps", "causes"}
    with started(["copies", "overlap"], run, done) as second:
        assert not second.wait_until_ready("replay")
        second.finish()
        assert second.connection.execute("from _copied").fetchall() == [(1,)]
    assert done == {"gaps", "causes"}


def test_other_errors_are_raised_in_the_main_thread():
    def run(_connection, _names):
        raise ValueError("wrong")

    with started(["copies"], run, {"causes"}) as second:
        with pytest.raises(ValueError, match="wrong"):
            second.wait_until_ready("replay")
        with pytest.raises(ValueError, match="wrong"):
            second.finish()


def test_a_query_is_broken_off_when_the_connection_is_closed():
    def run(connection, _names):
        connection.execute("select sum(hash(range)) from range(1_000_000_000_000)")

    done = set()
    with started(["copies"], run, done):
        pass
    assert done == set()


def test_a_thread_that_waits_or_never_began_ends():
    with started(["overlap"], lambda *_: None, set()):
        pass
    second = SecondConnection(duckdb.connect(), ["copies"], EARLIER, lambda *_: None, set())
    second.stop()
    second.close()


def test_stopping_waits_for_what_runs():
    has_begun, may_end = Event(), Event()

    def run(_connection, _names):
        has_begun.set()
        assert may_end.wait(10)

    done = {"gaps"}
    with started(["copies", "overlap"], run, done) as second:
        assert has_begun.wait(10)
        may_end.set()
        second.stop()
        assert "copies" in done


@pytest.mark.parametrize("failing", ["kernel_occupancy", "operator_cost", "idle_piece", "replay", None])
@pytest.mark.parametrize("name", ["kineto_2026.json.gz", "nsys_2026.2.sqlite"])
def test_tables_are_those_of_one_connection_also_where_memory_runs_out(name, failing, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "MOST_ROWS", -1)
    databases, apart = [tmp_path / "one.duckdb", tmp_path / "two.duckdb"], []

    class Watched(SecondConnection):
        def __init__(self, connection, names, *others):
            apart.extend(names)
            super().__init__(connection, names, *others)

    real_run, failures = order.run, []

    def run(connection, names, state):
        real_run(connection, names, state)
        if failing in names and not failures:
            failures.append(failing)
            raise duckdb.OutOfMemoryException("made up")

    monkeypatch.setattr(order, "SecondConnection", Watched)
    for threads, database in enumerate(databases, 1):
        monkeypatch.setattr(order, "_thread_count", lambda _connection, threads=threads: threads)
        ingest(FIXTURES / "run" / name, database)
        monkeypatch.setattr(order, "run", run)
    assert failures == ([failing] if failing else [])
    assert len(apart) > 10
    assert differing_tables(*databases) == []


def differing_tables(one, two):
    with closing(duckdb.connect()) as connection:
        connection.execute(f"attach '{one}' as one (read_only); attach '{two}' as two (read_only)")
        tables = connection.execute("select table_name from duckdb_tables() where database_name = 'one'").fetchall()
        volatile = {"trace": "exclude (ingested_at)"}
        query = "select * {0} from one.{1} except all select * {0} from two.{1}"
        return [
            name
            for (name,) in tables
            for text in (query, query.replace("one.", "_.").replace("two.", "one.").replace("_.", "two."))
            if connection.execute(text.format(volatile.get(name, ""), name)).fetchall()
        ]
