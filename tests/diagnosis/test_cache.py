"""Judgements that are cached say what new ones would, and only while rules and traces are the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import msgspec
import pytest
from builder import TraceBuilder, judge_database
from click.testing import CliRunner

import traceq
from traceq.app.pipeline import judge_traces
from traceq.cli import main
from traceq.common import code_hash
from traceq.diagnosis import cache
from traceq.diagnosis.judge import Judged, judge


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_once")
    trace = TraceBuilder()
    for start in (0, 100_000, 200_000):
        trace.annotation("outer", start, 10_000)
        trace.kernel("gemm", start + 50_000, 40_000, launched=(start + 4_000, 1_000))
    trace.build(folder)._connection.close()
    return folder / "trace.duckdb"


@pytest.fixture
def database(made_once, tmp_path):
    return shutil.copyfile(made_once, tmp_path / "trace.duckdb")


def told(database, sql):
    with traceq.open(database) as traces:
        return traces.sql(sql).fetchall()


def test_a_judgement_survives_being_written(database):
    with traceq.open(database) as traces:
        (judged,) = judge(traces._connection)
    assert judged.findings
    assert judged.observations
    assert judged.not_applicable
    assert msgspec.json.decode(msgspec.json.encode(judged), type=Judged) == judged


def test_a_report_of_a_cached_judgement_is_the_same_and_asks_no_rule(database, monkeypatch):
    before = CliRunner().invoke(main, ["report", str(database), "--format", "json"])
    judge_database(database)
    monkeypatch.setattr(cache, "judge_subject", None)
    after = CliRunner().invoke(main, ["report", str(database), "--format", "json"])
    assert (after.exit_code, after.stdout) == (0, before.stdout)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "content", ["{", "[" * 50_000, "[]", '{"trace_id": 1}', '"\x00"', '{"trace_id": ' + "9" * 6000]
)
def test_a_judgement_of_others_that_cannot_be_read_is_made_anew(database, content):
    before = CliRunner().invoke(main, ["report", str(database), "--format", "json"])
    judge_database(database)
    with duckdb.connect(str(database)) as connection:
        connection.execute("update judgement set content = ?", [content])
    after = CliRunner().invoke(main, ["report", str(database), "--format", "json"])
    assert (after.exit_code, after.stdout) == (0, before.stdout)


def test_ingest_keeps_what_the_rules_say(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0}}]')
    result = CliRunner().invoke(main, ["ingest", str(path), "-o", str(tmp_path / "t.duckdb")])
    assert (result.exit_code, result.stderr) == (0, "")
    assert told(tmp_path / "t.duckdb", "select trace_id, goal from judgement") == [(1, "throughput")]


@pytest.mark.parametrize(
    "change",
    [
        "update trace set run = 'another'",
        "insert into trace by name select * replace (2 as trace_id) from trace",
        "update step set excluded = 'warm-up' where step = 0",
    ],
)
def test_with_other_traces_it_does_not_count(database, change):
    judge_database(database)
    assert made_new(database) == []
    with duckdb.connect(str(database)) as connection:
        connection.execute(change)
    assert 1 in made_new(database)


def test_with_other_rules_or_another_goal_it_does_not_count(database, monkeypatch):
    judge_database(database)
    with traceq.open(database) as traces:
        assert made_new(database, goal="latency") == [1]
        assert made_new(database, rules=[]) == [1]
        monkeypatch.setattr(cache, "code_hash", lambda *_: "others")
        assert made_new(database) == [1]
        assert traces.sql("select count(*) from judgement").fetchall() == [(1,)]


def made_new(database, **how):
    """The traces on which the rules would be asked again."""
    with traceq.open(database) as traces:
        judged = cache.load_judgements(traces._connection, **how)
        return [subject.trace_id for subject, judge in judged if judge.func is cache.judge_subject]


def test_a_database_that_cannot_be_written_stays_and_the_reason_is_said(database):
    with traceq.open(database) as traces:
        assert "read-only" in judge_traces(traces._connection)
    assert told(database, "select count(*) from judgement") == [(0,)]


def test_two_ingests_of_a_trace_are_judged_alike(tmp_path):
    source = tmp_path / "t.json"
    source.write_text('[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0}}]')
    kept = []
    for name in ("a.duckdb", "b.duckdb"):
        result = CliRunner().invoke(main, ["ingest", str(source), "-o", str(tmp_path / name)])
        assert result.exit_code == 0, result.output
        kept.append(told(tmp_path / name, "from judgement"))
    assert kept[0] == kept[1]


def test_the_view_of_findings_is_what_was_judged(database):
    judge_database(database)
    with traceq.open(database) as traces:
        (judged,) = judge(traces._connection)
        rows = traces.sql(
            "select rank_order, finding_id, saving, device, query from finding order by rank_order"
        ).fetchall()
    expected = [
        (place, each.finding_id, each.saving_ns, each.where.device, each.summary.query)
        for place, each in enumerate(judged.findings, 1)
    ]
    assert rows == expected
    assert rows


@pytest.mark.slow
def test_every_file_that_judging_reads_is_in_the_key(tmp_path, monkeypatch):
    package = Path(traceq.__file__).parent
    copied = shutil.copytree(package, tmp_path / "traceq", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code_hash, "_PACKAGE", copied)

    def hashed():
        code_hash._hash_room.cache_clear()
        return code_hash.code_hash.__wrapped__(*cache._REACHED)

    before = hashed()
    for path in [copied / each.relative_to(package) for each in read_while_judging(package)]:
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert hashed() != before, path
        path.write_bytes(content)
    assert hashed() == before
    # What was hashed is the copy.
    code_hash._hash_room.cache_clear()


def read_while_judging(package):
    """The files of the package that a process opens or imports which judges a database."""
    code = """
import sys, pathlib
opened = set()
sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
import duckdb
from traceq.database.connect import create_schema
from traceq.diagnosis.cache import fill
connection = duckdb.connect()
create_schema(connection)
opened.clear()
connection.execute(
    "insert into trace by name select 1 as trace_id, 'a' as path, 'b' as sha256, 1 as size_bytes, 'nsys' as format,"
    " now()::timestamp as ingested_at"
)
fill(connection)
opened |= {module.__file__ for name, module in sys.modules.items() if name.startswith("traceq.")}
print(*sorted(each for each in opened if each.endswith((".sql", ".py"))), sep="\\n")
"""
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    found = [Path(line) for line in told.splitlines() if Path(line).is_relative_to(package)]
    assert package / "diagnosis/sql/traces.sql" in found
    return found
