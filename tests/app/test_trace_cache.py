"""The cache of traces that were read."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from traceq.app import cache
from traceq.app.api import report
from traceq.app.pipeline import ensure_cached
from traceq.app.read_options import AS_FOUND
from traceq.cli import main
from traceq.common.cache_folder import is_cache_wanted, prepare_cache
from traceq.common.limits import Limits, within
from traceq.common.owner import owner_word
from traceq.database import empty, untrusted
from traceq.database.empty import create_database
from traceq.errors import WrongUse
from traceq.loading import ingest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACEQ_NO_CACHE")
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def trace(tmp_path):
    return write(tmp_path / "t.json")


def write(path, name="gemm"):
    def event(cat, name, ts, dur, tid, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur, "args": args}

    events = []
    for number in range(3):
        ts = 1000 * number
        events += [
            event("user_annotation", f"ProfilerStep#{number}", ts, 1000, 1),
            event("cuda_runtime", "cudaLaunchKernel", ts + 10, 5, 1, correlation=number),
            event("kernel", name, ts + 20, 600, 7, device=0, stream=7, correlation=number),
        ]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def counted(monkeypatch):
    """How often a trace is read."""
    calls = []
    load = ingest.new_database
    monkeypatch.setattr(ingest, "new_database", lambda *args, **options: calls.append(args) or load(*args, **options))
    return calls


def shown(path, **options):
    return report(path, drawn=False, **options).to_text()


def test_a_trace_is_read_once(place, trace, monkeypatch):
    calls = counted(monkeypatch)
    assert shown(trace) == shown(trace)
    assert len(calls) == 1
    assert [entry.path.name[:7] for entry in cache.list_entries()] == ["t.json-"]
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.slow
def test_it_says_what_a_temporary_database_says(trace):
    assert shown(trace) == shown(trace, cache=False)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"step_range": "^Profiler"}, {"window": "gpu"}])
def test_what_is_said_about_steps_makes_another_entry(trace, options):
    shown(trace)
    shown(trace, **options)
    assert len(cache.list_entries()) == 2


def test_what_lies_beside_makes_another_entry_and_a_folder_is_its_records(trace, tmp_path, monkeypatch):
    calls = counted(monkeypatch)
    folder = tmp_path / "records"
    folder.mkdir()
    shutil.copy(FIXTURES / "inspector" / "node-0-pid4000.log.gz", folder)
    logs = (folder, FIXTURES / "run_logs" / "megatron.log")
    assert shown(trace, logs=logs) == shown(trace, logs=logs)
    assert len(calls) == 1
    shutil.copy(FIXTURES / "inspector" / "node-0-pid4001.log.gz", folder)
    shown(trace, logs=logs)
    assert len(calls) == 2


@pytest.mark.slow
def test_other_content_makes_another_entry(trace, monkeypatch):
    calls = counted(monkeypatch)
    shown(trace)
    write(trace, "other")
    shown(trace)
    assert len(calls) == 2


@pytest.mark.slow
def test_another_name_makes_another_entry(trace, tmp_path):
    shown(trace)
    (tmp_path / "copy.json").write_bytes(trace.read_bytes())
    assert shown(tmp_path / "copy.json").startswith("copy.json")


@pytest.mark.sample(2)
@pytest.mark.parametrize("variable", ["TRACEQ_NO_CACHE", "TRACEQ_CACHE_LIMIT"])
def test_the_environment_switches_it_off(place, trace, monkeypatch, variable):
    monkeypatch.setenv(variable, "1" if variable == "TRACEQ_NO_CACHE" else "0")
    shown(trace)
    assert not place.exists()


def test_a_limit_that_is_no_size_is_wrong_use(monkeypatch):
    monkeypatch.setenv("TRACEQ_CACHE_LIMIT", "much")
    with pytest.raises(WrongUse, match="TRACEQ_CACHE_LIMIT: 'much'"):
        is_cache_wanted()


@pytest.mark.slow
def test_what_was_not_used_for_longest_goes_first(tmp_path, monkeypatch):
    paths = [write(tmp_path / f"{name}.json", name) for name in "abc"]
    for path in paths[:2]:
        shown(path)
    entries = {entry.path.name[0]: entry for entry in cache.list_entries()}
    os.utime(entries["a"].path, (time.time() - 10, time.time() - 10))
    os.utime(entries["b"].path, (time.time() - 20, time.time() - 20))
    monkeypatch.setenv("TRACEQ_CACHE_LIMIT", str(2 * entries["a"].size + 1000))
    shown(paths[2])
    assert {entry.path.name[0] for entry in cache.list_entries()} == {"a", "c"}


def test_what_a_killed_process_left_is_removed(place, trace):
    code = f"import sys; sys.path[:] = {sys.path!r}; from traceq.common.owner import owner_word; print(owner_word())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    (place / f".{ended}.t.json-x.duckdb").mkdir(parents=True)
    (place / f".{owner_word()}.t.json-y.duckdb").mkdir()
    shown(trace)
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == [f".{owner_word()}.t.json-y.duckdb"]


def test_a_failed_read_leaves_nothing(place, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": 3}')
    result = CliRunner().invoke(main, ["report", str(broken)])
    assert result.exit_code == 1
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_where_the_cache_cannot_be_written_the_trace_is_read_anyway(trace, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACEQ_CACHE", str(tmp_path / "file" / "cache"))
    result = CliRunner().invoke(main, ["report", str(trace)])
    assert result.exit_code == 0
    assert "traceq: note: " in result.stderr
    assert "cannot be used as a cache" in result.stderr
    with pytest.warns(UserWarning, match="cannot be used as a cache"):
        shown(trace)


def test_a_cache_of_another_user_is_not_used(place, monkeypatch):
    place.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    notes = []
    with within(Limits(note=notes.append)):
        assert ensure_cached("x", AS_FOUND) is None
    assert "belongs to user" in notes[0]


def test_what_others_could_put_into_the_cache_is_not_used(place, trace, tmp_path):
    before = shown(trace)
    (entry,) = place.glob("*.duckdb")
    strange = tmp_path / "strange.duckdb"
    create_database(strange)
    own = place / "mine.duckdb"
    own.write_bytes(b"of the user")

    entry.unlink()
    entry.symlink_to(strange)  # by one who could write there before
    content = strange.read_bytes()
    assert shown(trace) == before
    assert (entry.is_symlink(), strange.read_bytes()) == (False, content)

    made = empty._cached_database("0")
    (kept,) = place.glob("empty-*.db")
    kept.write_bytes(made + b"planted")
    place.chmod(0o777)
    assert empty._cached_database("0") != made + b"planted"
    place.chmod(0o777)
    entry.write_bytes(content)
    assert [each.path for each in cache.list_entries()] == []
    assert shown(trace) == before
    assert place.stat().st_mode & 0o777 == 0o700
    assert own.read_bytes() == b"of the user"


def test_a_folder_that_users_share_is_no_cache(place):
    place.mkdir()
    place.chmod(0o1777)
    with pytest.raises(OSError, match="several users share this folder: set TRACEQ_CACHE to one of your own"):
        prepare_cache(place)
    assert place.stat().st_mode & 0o7777 == 0o1777


def test_an_entry_of_another_user_is_not_opened_as_checked(place, monkeypatch):
    place.mkdir(mode=0o700)
    entry = place / "x.duckdb"
    create_database(entry)
    seen = untrusted.fingerprint(entry)
    assert untrusted.was_checked(entry, seen)
    (place / "looked-at").mkdir()
    (place / "looked-at" / seen).touch()
    uid = place.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert not untrusted.was_checked(entry, seen)


def test_a_clock_that_was_set_back_makes_nothing_stale(place, trace):
    before = shown(trace)
    (entry,) = place.glob("*.duckdb")
    for path in (entry, trace):
        os.utime(path, (2**32, 2**32))  # in the year 2106
    assert shown(trace) == before
    trace.write_bytes(trace.read_bytes().replace(b"gemm", b"gema"))
    os.utime(trace, (2**32, 2**32))
    shown(trace)
    assert len(list(place.glob("*.duckdb"))) == 2


def test_a_cache_that_others_can_read_is_closed(place, trace):
    place.mkdir(mode=0o755)
    shown(trace)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.slow
def test_tables_of_a_trace_hold_its_findings_although_the_entry_is_shared(trace, tmp_path):
    shown(trace)
    result = CliRunner().invoke(
        main, ["export", str(trace), "--table", "finding", "--goal", "latency", "-o", str(tmp_path / "f.csv")]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "f.csv").read_text()


def test_the_command_lists_and_clears_it(place, trace):
    shown(trace)
    listed = CliRunner().invoke(main, ["cache"]).output
    assert listed.startswith(f"{place}: 1 entry, ")
    assert "t.json-" in listed
    assert "1 entry removed" in CliRunner().invoke(main, ["cache", "clear"]).output
    assert cache.list_entries() == []


def test_sql_takes_a_trace(trace):
    result = CliRunner().invoke(main, ["sql", str(trace), "select count(*) as n from kernel", "--format", "csv"])
    assert result.output.split() == ['"n"', "3"]
