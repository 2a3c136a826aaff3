"""The file of a history: what is added once, writers at once, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from made_histories import entry

from traceq.database.sql import read_columns
from traceq.errors import SchemaMismatch, StoreError, UnusableBaseline
from traceq.runs.history.entry import HistoryReport
from traceq.runs.history.store import (
    VERSION,
    add_entries,
    history_path,
    is_history,
    merge_history,
    open_history,
    read_reports,
    remove_reports,
    table_names,
    write_history,
)

TESTS = Path(__file__).resolve().parents[2]

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from made_histories import entry
from traceq.runs.history.store import add_entries
for number in range(int(sys.argv[4])):
    new = entry(number, name=f"{sys.argv[3]} ", quantities={"gpu.busy": (0.5, "share")})
    add_entries(Path(sys.argv[2]), [new], wait=600)
"""

KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from made_histories import entry
from traceq.runs.history import store
with store.write_history(Path(sys.argv[2])) as connection:
    store._insert_entry(connection, entry(99, facts={"torch": "2.4.0"}))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def rows(path, query):
    with open_history(path) as connection:
        return connection.execute(query).fetchall()


def test_a_report_counts_once(tmp_path):
    path = tmp_path / "new" / "h.duckdb"
    first, second = entry(1, facts={"torch": "2.4.0"}), entry(2)
    assert add_entries(path, [first, second, first]) == (2, (first.report.report_id,))
    assert add_entries(path, [second]) == (0, (second.report.report_id,))
    assert rows(path, "select name, value, unit from quantity order by value") == [("step.typical", 1e8, "ns")] * 2
    assert rows(path, "select key, value from fact") == [("torch", "2.4.0")]
    with open_history(path) as connection:
        assert read_reports(connection) == [first.report, second.report]
        assert read_reports(connection, first.report.series) == [first.report, second.report]
        assert read_reports(connection, "other") == []


def write_at_once(path, processes, reports):
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(TESTS), str(path), str(number), str(reports)])
        for number in range(processes)
    ]
    seen = 0
    while any(process.poll() is None for process in started):
        if path.exists():
            ((now,),) = rows(path, "select count(*) from report")
            assert now >= seen
            seen = now
        time.sleep(0.1)
    assert [process.wait() for process in started] == [0] * processes
    assert rows(path, "select count(*), count(distinct report_id) from report") == [(processes * reports,) * 2]
    assert rows(path, "select count(*) from quantity") == [(processes * reports * 2,)]


def test_writers_at_once_lose_nothing(tmp_path):
    write_at_once(tmp_path / "h.duckdb", 4, 3)


@pytest.mark.slow
def test_eight_writers_of_25_reports_lose_nothing(tmp_path):
    write_at_once(tmp_path / "h.duckdb", 8, 25)


def test_a_killed_writer_leaves_nothing_half(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [entry(1)])
    killed = subprocess.run([sys.executable, "-c", KILLED, str(TESTS), str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert rows(path, "select count(*) from report union all select count(*) from fact") == [(1,), (0,)]
    assert len(list(tmp_path.glob(".*.part"))) == 1
    assert add_entries(path, [entry(2)]).added == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == [".h.duckdb.lock", "h.duckdb"]


def test_an_error_inside_leaves_the_history_as_it_was(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [entry(1)])
    with pytest.raises(duckdb.BinderException), write_history(path) as connection:
        connection.execute("delete from report; select nothing from report")
    assert rows(path, "select count(*) from report") == [(1,)]


def test_who_waits_too_long_is_told_and_readers_do_not_wait(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [entry(1)])
    with write_history(path) as connection:
        connection.execute("delete from report")
        with (
            pytest.raises(StoreError, match=r"other processes have been writing it for 0\.1 s"),
            write_history(path, 0.1),
        ):
            pass
        assert rows(path, "select count(*) from report") == [(1,)]
    assert rows(path, "select count(*) from report") == [(0,)]


def test_a_link_stays_and_so_does_the_mode(tmp_path):
    path, link = tmp_path / "h.duckdb", tmp_path / "link.duckdb"
    add_entries(path, [entry(1)])
    path.chmod(0o640)
    link.symlink_to(path)
    add_entries(link, [entry(2)])
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert rows(path, "select count(*) from report") == [(2,)]


def test_a_history_that_is_open_elsewhere_is_left_alone(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [entry(1)])
    (tmp_path / "h.duckdb.wal").write_bytes(b"1")
    with pytest.raises(StoreError, match="another program has it open for writing"):
        add_entries(path, [entry(2)])


def test_reports_of_another_history_are_taken_over_once(tmp_path):
    ours, theirs = tmp_path / "ours.duckdb", tmp_path / "theirs.duckdb"
    add_entries(ours, [entry(1), entry(2)])
    add_entries(theirs, [entry(2), entry(3, facts={"torch": "2.4.0"})])
    assert merge_history(ours, theirs) == (1, (entry(2).report.report_id,))
    assert merge_history(ours, theirs).added == 0
    assert rows(ours, "select count(*) from quantity union all select count(*) from fact") == [(3,), (1,)]
    with pytest.raises(StoreError, match="is the history itself"):
        merge_history(ours, ours)


def test_reports_are_removed_by_the_beginning_of_their_id(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [entry(number) for number in range(20)])
    report_id = entry(3).report.report_id
    assert remove_reports(path, [report_id[:10]]) == 1
    assert rows(path, f"select count(*) from quantity where report_id = '{report_id}'") == [(0,)]
    with pytest.raises(UnusableBaseline, match="no report begins with 'x'"):
        remove_reports(path, ["x"])
    with pytest.raises(UnusableBaseline, match="several reports begin with ''"):
        remove_reports(path, [""])
    assert rows(path, "select count(*) from report") == [(19,)]


def test_the_fields_of_a_report_are_the_columns_of_its_table():
    assert HistoryReport.__struct_fields__ == tuple(read_columns(("runs/history/tables.sql",))["report"])


def test_every_table_and_column_has_a_comment(tmp_path):
    path = tmp_path / "h.duckdb"
    add_entries(path, [])
    assert set(table_names()) == {"history_schema", "report", "quantity", "fact", "acceptance"}
    for thing in ("tables", "columns"):
        assert rows(path, f"select * from duckdb_{thing}() where comment is null and not internal") == []


@pytest.mark.parametrize("opened", [open_history, write_history])
def test_what_is_no_history_is_refused(opened, tmp_path):
    def refused(name, kind, words):
        with pytest.raises(kind, match=words), opened(tmp_path / name):
            pass

    (tmp_path / "text.duckdb").write_text("no database " * 100)
    refused("text.duckdb", StoreError, "not a DuckDB database, so no history; name another file")
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("create table mine as select 1 as number")
    refused("other.duckdb", StoreError, "a DuckDB database, but no history: lacks the table")
    add_entries(tmp_path / "newer.duckdb", [entry(1)])
    with duckdb.connect(str(tmp_path / "newer.duckdb")) as connection:
        connection.execute("update history_schema set version = ?", [VERSION + 1])
    refused("newer.duckdb", SchemaMismatch, f"is a history of schema {VERSION + 1}, this traceq understands {VERSION}")
    add_entries(tmp_path / "macro.duckdb", [entry(1)])
    with duckdb.connect(str(tmp_path / "macro.duckdb")) as connection:
        connection.execute("create macro epoch(moment) as 42")
    refused("macro.duckdb", StoreError, "has the macro epoch, which no history has")
    add_entries(tmp_path / "cut.duckdb", [entry(number) for number in range(50)])
    content = (tmp_path / "cut.duckdb").read_bytes()
    (tmp_path / "cut.duckdb").write_bytes(content[:9000] + b"\xff" * 9000 + content[18000:30000])
    refused("cut.duckdb", StoreError, "is it damaged")


def test_a_missing_history_is_not_made_by_reading(tmp_path):
    with (
        pytest.raises(StoreError, match="no such history; traceq history add SOURCE --in"),
        open_history(tmp_path / "h"),
    ):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "fixed").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        add_entries(tmp_path / "fixed" / "h.duckdb", [entry(1)])


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be written: .*; choose another file"):
        add_entries(tmp_path / "file" / "h.duckdb", [entry(1)])


def test_the_usual_place(monkeypatch, tmp_path):
    monkeypatch.delenv("TRACEQ_HISTORY", raising=False)
    assert history_path() == Path(".traceq/history.duckdb")
    monkeypatch.setenv("TRACEQ_HISTORY", "/mnt/team.duckdb")
    assert history_path() == Path("/mnt/team.duckdb")
    add_entries(tmp_path / "h.duckdb", [])
    assert is_history(tmp_path / "h.duckdb")
    assert not is_history(tmp_path / "missing")
