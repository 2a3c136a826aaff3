"""Analyses of large traces on two connections: what may run apart, in which order, and what happens when one fails."""

from __future__ import annotations

from contextlib import closing
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


def start(names, run, done):
    second = SecondConnection(duckdb.connect(), names, EARLIER, run, done)
    second.start()
    return second


def test_the_first_analysis_that_is_ready_runs_next():
    ran, has_copied = [], Event()

    def run(_connection, names):
        ran.extend(names)
        has_copied.set()

    done = set()
    second = start(["overlap", "copies"], run, done)
    assert has_copied.wait(10)
    assert ran == ["copies"]
    second.add_done("gaps")
    second.finish()
    assert ran == ["copies", "overlap"]
    assert done == {"gaps", "copies", "overlap"}
    assert second.left == []
    assert second.wait_until_ready("causes")


def test_what_is_left_when_memory_runs_out_is_for_the_main_thread():
    def run(_connection, _names):
        raise duckdb.OutOfMemoryException("failed to allocate")

    second = start(["copies", "overlap"], run, {"gaps", "causes"})
    assert not second.wait_until_ready("replay")
    second.finish()
    assert second.left == ["copies", "overlap"]


def test_other_errors_are_raised_in_the_main_thread():
    def run(_connection, _names):
        raise ValueError("wrong")

    second = start(["copies"], run, {"causes"})
    with pytest.raises(ValueError, match="wrong"):
        second.wait_until_ready("replay")
    with pytest.raises(ValueError, match="wrong"):
        second.finish()


def test_a_query_is_broken_off():
    def run(connection, _names):
        connection.execute("select sum(hash(range)) from range(1_000_000_000_000)")

    second = start(["copies"], run, set())
    second.stop(interrupt=True)
    assert second.left == ["copies"]


def test_stopping_waits_for_what_runs():
    has_begun, may_end = Event(), Event()

    def run(_connection, _names):
        has_begun.set()
        assert may_end.wait(10)

    second = start(["copies", "overlap"], run, {"gaps"})
    assert has_begun.wait(10)
    may_end.set()
    second.stop()
    assert second.left in (["overlap"], [])


@pytest.mark.parametrize("name", ["kineto_2026.json.gz", "nsys_2026.2.sqlite"])
def test_tables_are_those_of_one_connection(name, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "MOST_ROWS", -1)
    databases, apart = [tmp_path / "one.duckdb", tmp_path / "two.duckdb"], []

    class Watched(SecondConnection):
        def __init__(self, connection, names, *others):
            apart.extend(names)
            super().__init__(connection, names, *others)

    monkeypatch.setattr(order, "SecondConnection", Watched)
    for threads, database in enumerate(databases, 1):
        monkeypatch.setattr(order, "_thread_count", lambda _connection, threads=threads: threads)
        ingest(FIXTURES / "run" / name, database)
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
