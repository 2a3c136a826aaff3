"""How the analyses of a trace are run."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import duckdb
from builder import TraceBuilder

from traceq import analysis
from traceq.analysis import order
from traceq.analysis.state import do_nothing, free_memory
from traceq.database.connect import SCHEMA

# Facts that several rooms above ask for.
READ_ELSEWHERE = {
    "analysis/ledger/ledger.sql",
    "analysis/steps/statistics.sql",
    "analysis/steps/throughput.sql",
}
# Parts of an analysis that the tests know by its last table.
WITHIN_OTHERS = {
    "allocation_life",
    "collective_issued",
    "collective_shapes",
    "collective_wait",
    "copy_position",
    "data_copy",
    "data_part",
    "data_worker_interval",
    "host_ledger_interval",
    "host_running",
    "idle_interval",
    "idle_overhead",
    "idle_second_look",
    "long_stretch",
    "serving_annotation",
    "stall_communication",
    "stall_debt",
}


def test_every_query_of_a_topic_runs_or_is_read_by_its_python():
    """A file that neither order.py nor the topic's Python names would never run."""
    package = Path(analysis.__file__).parent
    named = {name for topic in (*order.JOINED, *order.TOPICS, *order.NOTES) for name in topic.analyses}
    folders = (package, package.parent / "loading")
    python = "\n".join(path.read_text("utf-8") for folder in folders for path in folder.rglob("*.py"))
    schema = {Path(name).name for name in SCHEMA}
    idle = [
        path.relative_to(package).as_posix()
        for path in package.glob("*/*.sql")
        if path.name not in schema
        and path.stem not in named
        and not re.search(rf'["/]{path.stem}"', python)
        and f"{path.stem}.sql" not in python
        and path.relative_to(package.parent).as_posix() not in READ_ELSEWHERE
    ]
    assert idle == []


def test_every_analysis_is_named_by_a_test_of_analyses():
    named = {name for topic in (*order.JOINED, *order.TOPICS, *order.NOTES) for name in topic.analyses}
    tables = {name for name in named if name in order.sql.shelved("analysis")}
    here = Path(__file__).parent
    files = (path for path in here.glob("*.py") if path not in {Path(__file__), here / "test_order.py"})
    tests = "\n".join(path.read_text("utf-8") for path in files)
    assert {name for name in tables if not re.search(rf"\b{name}\b", tests)} == WITHIN_OTHERS


def test_what_needs_too_much_memory_is_tried_again_from_its_beginning(tmp_path, monkeypatch):
    tried = []
    real_run = order.run

    def run(connection, names, state):
        tried.append(names[0])
        real_run(connection, names, state)
        if tried.count("device_activity") == 1:
            raise duckdb.OutOfMemoryException("too much")

    monkeypatch.setattr(order, "run", run)
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#1", 0, 100)
    trace.kernel("gemm", 10, 60, launched=(2, 5))
    rows = trace.build(tmp_path).rows("select dur from time_ledger")
    assert tried.count("device_activity") == 2
    assert sum(dur for (dur,) in rows) == 100


def test_where_memory_does_not_suffice_an_analysis_is_tried_again_by_one_thread_with_all_memory(monkeypatch):
    tries = []

    def analyse(connection, state):
        set_to = connection.execute("select current_setting('threads'), current_setting('memory_limit')").fetchone()
        tries.append((state.free_memory is not do_nothing, *set_to))
        if len(tries) == 1:
            state.free_memory()
            connection.execute("create table half as select 1")
            raise duckdb.OutOfMemoryException("made up")
        state.cut = 1

    monkeypatch.setattr(order, "_IN_PYTHON", {"made_up": order.AnalysisStep(analyse, "", "")})
    with duckdb.connect(config={"memory_limit": "1GiB", "threads": 2}) as connection:
        state = order.AnalysisState(1)
        state.free_memory = partial(free_memory, connection, state)
        order._run_at_once(connection, ("made_up",), state, memory=3 << 29)
        assert tries == [(True, 2, "1.0 GiB"), (False, 1, "1.5 GiB")]
        assert state.cut == 1
        order._run_at_once(connection, ("made_up",), state, memory=3 << 29)
        assert tries[2:] == [(True, 2, "1.0 GiB")]
        assert connection.execute("select count(*) from duckdb_tables()").fetchone() == (0,)


def test_temporary_tables_of_analyses_have_names_of_their_own():
    """All analyses of a trace run on one connection: a second table of a name ends the ingest."""
    made: dict[str, list[str]] = {}
    for path in Path(analysis.__file__).parent.rglob("*.sql"):
        for name in re.findall(r"^create temp table (\w+)", path.read_text("utf-8"), re.MULTILINE):
            made.setdefault(name, []).append(path.name)
    assert len(made) > 50
    assert {name: files for name, files in made.items() if len(set(files)) > 1} == {}
