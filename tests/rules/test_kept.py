"""Judgements that are kept say what new ones would, and only while rules and traces are the same."""

from __future__ import annotations

import shutil

import duckdb
import pytest
from builder import TraceBuilder
from click.testing import CliRunner

import traceq
from traceq.cli import judging, main
from traceq.diagnosis import kept
from traceq.diagnosis.judge import judge


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
    assert kept.judgement_of(kept.text_of(judged)) == judged


def test_a_report_of_a_kept_judgement_is_the_same_and_asks_no_rule(database, monkeypatch):
    before = CliRunner().invoke(main, ["report", str(database), "--format", "json"])
    judging.keep_judgements(database)
    monkeypatch.setattr(kept, "judge_subject", None)
    after = CliRunner().invoke(main, ["report", str(database), "--format", "json"])
    assert (after.exit_code, after.stdout) == (0, before.stdout)


def test_ingest_keeps_what_the_rules_say(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0}}]')
    result = CliRunner().invoke(main, ["ingest", str(path)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert told(tmp_path / "t.duckdb", "select trace_id, goal from judgement") == [(1, "throughput")]


@pytest.mark.parametrize(
    "change",
    [
        "update trace set run = 'another'",
        "insert into trace by name select * replace (2 as trace_id) from trace",
        "update trace set ingested_at = ingested_at + interval 1 second",
    ],
)
def test_with_other_traces_it_does_not_count(database, change):
    judging.keep_judgements(database)
    assert made_new(database) == []
    with duckdb.connect(str(database)) as connection:
        connection.execute(change)
    assert 1 in made_new(database)


def test_with_other_rules_or_another_goal_it_does_not_count(database, monkeypatch):
    judging.keep_judgements(database)
    with traceq.open(database) as traces:
        assert made_new(database, goal="latency") == [1]
        assert made_new(database, rules=[]) == [1]
        monkeypatch.setattr(kept, "_rules", lambda: "others")
        assert made_new(database) == [1]
        assert traces.sql("select count(*) from judgement").fetchall() == [(1,)]


def made_new(database, **how):
    """The traces on which the rules would be asked again."""
    with traceq.open(database) as traces:
        judged = kept.judged_or_kept(traces._connection, **how)
        return [subject.trace_id for subject, judge in judged if judge.func is kept.judge_subject]


def test_a_database_that_cannot_be_written_stays_and_stderr_says_so(database, capsys):
    with duckdb.connect(str(database), read_only=True):
        judging.keep_judgements(database)
    assert "every report will ask the rules again: " in capsys.readouterr().err
    assert told(database, "select count(*) from judgement") == [(0,)]
