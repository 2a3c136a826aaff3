"""What memory and threads connections may use: one rule, for every command and for Python."""

from __future__ import annotations

import json

import duckdb
import pytest

import traceq
from traceq.common import limits as limits_
from traceq.common import process
from traceq.common.limits import LEAST_OF_READING, Limits, limits, within
from traceq.common.units import parse_size
from traceq.database import connect as connections
from traceq.database.connect import connect
from traceq.database.empty import create_database
from traceq.database.user_sql import run_interruptibly

SETTINGS = "select current_setting('memory_limit'), current_setting('threads')"


@pytest.fixture
def database(tmp_path):
    create_database(tmp_path / "t.duckdb")
    return tmp_path / "t.duckdb"


def test_a_quarter_of_the_memory_by_default(database, monkeypatch):
    monkeypatch.setattr(limits_, "usable_memory", lambda: 8 << 30)
    monkeypatch.setattr(connections, "usable_cpus", lambda: 64)
    monkeypatch.setattr(connections, "MOST_ROWS", -1)
    with connect(database) as connection:
        assert connection.execute(SETTINGS).fetchone() == ("2.0 GiB", 16)


def test_a_small_database_is_read_by_one_thread(database):
    with connect(database) as connection:
        assert connection.execute("select current_setting('threads')").fetchone() == (1,)


def test_a_limit_is_kept_also_on_the_second_connection(database):
    with within(Limits(900 << 20)), connect(database) as first, connect(database) as second:
        for connection in (first, second):
            memory, threads = connection.execute(SETTINGS).fetchone()
            assert memory == "900.0 MiB"
            assert threads <= 7
    with traceq.open(database, memory_limit=parse_size("1 GiB")) as traces:
        assert traces.sql(SETTINGS).fetchall()[0][0] == "1.0 GiB"


def test_queries_have_what_recursive_ones_wait_for_otherwise(database):
    """With 300 MiB DuckDB 2.0 never ends the query for what collectives are for, of two small traces."""
    with within(Limits(256 << 20)), connect(database) as connection:
        assert connection.execute(SETTINGS).fetchone()[0] == "768.0 MiB"


def test_another_connection_of_the_process_may_have_the_database_open(database):
    with connect(database), duckdb.connect(str(database), read_only=True) as other:
        assert other.execute("select count(*) from trace").fetchone() == (0,)


def test_a_gigabyte_at_least_by_default(monkeypatch):
    monkeypatch.setattr(limits_, "usable_memory", lambda: 2 << 30)
    assert Limits().memory_bytes == 1 << 30
    assert Limits(512 << 20).memory_bytes == 512 << 20


@pytest.mark.parametrize(
    ("limit", "jobs", "tasks", "processes"), [(256, 4, 4, 2), (512, 4, 4, 4), (1024, 4, 2, 2), (64, 4, 4, 1)]
)
def test_no_more_processes_read_than_the_limit_gives_their_least(limit, jobs, tasks, processes):
    share = Limits(limit << 20, jobs=jobs).share(tasks)
    assert share.processes == processes
    assert share.memory == max(limit, 128) // processes << 20
    assert share.processes * share.memory <= max(limit << 20, LEAST_OF_READING)


def test_ingest_keeps_to_the_memory_in_all_processes_together(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr("traceq.loading.ingest.build_all", lambda tasks: taken.extend(tasks) or _stop())
    traces = [write_trace(tmp_path / f"{rank}.json", rank) for rank in range(4)]
    with pytest.raises(ZeroDivisionError):
        traceq.ingest(traces, tmp_path / "t.duckdb", jobs=4, memory_limit=256 << 20)
    assert [task.memory for task in taken] == [128 << 20] * 4  # of which two are built at the same time
    assert Limits(256 << 20, jobs=4).share(len(taken)).processes == 2


def _stop():
    raise ZeroDivisionError


def write_trace(path, rank):
    event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": rank, "dur": 1, "args": {"device": 0}}
    path.write_text(json.dumps({"traceEvents": [event]}))
    return path


def test_work_that_can_be_interrupted_keeps_to_the_limits(database):
    with within(Limits(900 << 20)), connect(database) as connection:
        assert run_interruptibly(connection, limits) == Limits(900 << 20, progress=limits().progress)
    assert limits().memory is None


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of 16 GiB without control groups and Slurm; the folder where groups have their files."""
    monkeypatch.setattr(process, "_GROUPS_OF_PROCESS", tmp_path / "cgroup")
    monkeypatch.setattr(process, "_GROUPS", tmp_path)
    monkeypatch.setattr(process.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 << 20}.get)
    for name in ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    assert process.usable_memory() == 16 << 30
    return tmp_path


def limit(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("said", "usable"), [("max\n", 16 << 30), ("4294967296\n", 4 << 30), (f"{1 << 62}\n", 16 << 30)]
)
@pytest.mark.parametrize(
    ("group", "folder", "name"),
    [
        ("0::/", "", "memory.max"),
        ("0::/job/step", "job/step", "memory.max"),
        ("0::/job/step", "job", "memory.max"),
        ("0::/as/the/host/sees/it", "", "memory.max"),
        ("7:blkio:/a\n4:cpu,memory:/job\n0::/", "memory/job", "memory.limit_in_bytes"),
        ("4:memory:/as/the/host/sees/it", "memory", "memory.limit_in_bytes"),
    ],
)
def test_a_container_may_use_what_it_is_limited_to(machine, group, folder, name, said, usable):
    (machine / "cgroup").write_text(f"{group}\n")
    limit(machine / folder, name, said)
    assert process.usable_memory() == usable


def test_groups_of_others_do_not_count(machine):
    (machine / "cgroup").write_text("0::/job\n")
    limit(machine / "other", "memory.max", "1000")
    assert process.usable_memory() == 16 << 30


@pytest.mark.parametrize(
    ("given", "usable"),
    [
        ({"SLURM_MEM_PER_NODE": "4096"}, 4 << 30),
        ({"SLURM_MEM_PER_NODE": "0"}, 16 << 30),
        ({"SLURM_MEM_PER_CPU": "2048", "SLURM_CPUS_ON_NODE": "3"}, 6 << 30),
        ({"SLURM_MEM_PER_CPU": "2048"}, 16 << 30),
    ],
)
@pytest.mark.usefixtures("machine")
def test_a_slurm_job_may_use_what_it_was_given(monkeypatch, given, usable):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert process.usable_memory() == usable


@pytest.mark.parametrize(
    ("text", "size"), [("2GiB", 2 << 30), ("512 MB", 512_000_000), ("1048576", 1 << 20), ("1.5 kB", 1500)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "2 XB", "-1", "2 GiB 3"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)
