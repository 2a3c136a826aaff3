"""traceq goodput: what it prints, writes, keeps and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from traceq.cli import main

ROOT = Path(__file__).resolve().parents[2]
LOGS = [str(ROOT / "fixtures" / "run_logs" / "failures" / name) for name in ("train.log", "sacct.txt")]
TRACE = str(ROOT / "fixtures" / "run" / "kineto_2026.json.gz")
DAY = 1_795_910_400_000_000_000


def run(*arguments, status=0):
    outcome = CliRunner().invoke(main, ["goodput", *map(str, arguments)], env={"COLUMNS": "100"})
    assert outcome.exit_code == status, outcome.output
    return outcome.output


def test_the_screen(golden):
    text = run(*LOGS, "--cost-per-gpu-hour", "2.5", "--ideal-step", "2.9 s")
    golden.check("goodput.txt", text)
    assert len(text.splitlines()) <= 48


def many_failures(path, count):
    """A log of annotate with `count` failures, each after 20 steps of a second."""
    lines, at = [], DAY
    for number in range(count + 1):
        lines.append({"traceq_run": 1, "at": at, "phase": "start_up", "mark": "begin", "gpus": 8})
        for step in range(20):
            at += 1_000_000_000
            lines.append({"at": at, "step": 15 * number + step, "dur": 900_000_000, "data": 10_000_000})
        at += 5_000_000_000
        if number < count:
            lines.append({"at": at, "phase": "failure", "mark": "moment", "detail": f"node {number} was lost"})
        at += 3_000_000_000
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_a_screen_of_many_failures_is_one_screen_and_a_page_has_all(tmp_path):
    log = many_failures(tmp_path / "run.jsonl", 30)
    text = run(log, "--cost-per-gpu-hour", "2")
    assert len(text.splitlines()) <= 48
    assert re.search(r"\d+ more, which cost less: -o goodput\.html has all", text)
    page = run(log, "--format", "html")
    assert all(f"node {number} was lost" in page for number in range(30))
    assert len(json.loads(run(log, "--format", "json"))["early_ends"]) == 30


def test_json_adds_up_and_says_null_for_what_it_cannot_tell():
    found = json.loads(run(LOGS[0], "--format", "json"))
    assert sum(row["ns"] for row in found["ledger"]) == found["wall_ns"]
    assert (found["cost"], found["ledger"][0]["joules"], found["cannot_tell"]) == (None, None, None)
    assert [sum(end["parts_ns"].values()) for end in found["early_ends"]] == [end["ns"] for end in found["early_ends"]]


def test_the_tables_are_kept_for_sql(tmp_path):
    run(*LOGS, "--save", tmp_path / "run.duckdb", "-o", tmp_path / "page.html")
    assert "What would save most" in (tmp_path / "page.html").read_text("utf-8")
    with duckdb.connect(str(tmp_path / "run.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*) from run_attempt").fetchall() == [(4,)]
    outcome = CliRunner().invoke(
        main, ["sql", str(tmp_path / "run.duckdb"), "select sum(dur) as wall from run_goodput"]
    )
    assert "11760000000000" in outcome.output


def test_a_price_without_a_number_of_gpus_says_the_way_out(tmp_path):
    log = tmp_path / "run.jsonl"
    lines = [{"traceq_run": 1, "at": DAY, "phase": "start_up", "mark": "begin"}]
    lines += [{"at": DAY + place * 10**9, "step": place, "dur": 10**9, "data": 0} for place in range(1, 9)]
    log.write_text("\n".join(map(json.dumps, lines)))
    text = run(log, "--cost-per-gpu-hour", "2")
    assert "What it cost, traceq cannot tell: no log says the number of GPUs. Say it: --gpus N" in text
    assert "100.0 % of 8.000 s went into steps that count" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument 'LOG...'"),
        ([TRACE], "is a trace: traceq goodput reads training logs of a whole run. For both together: traceq report"),
        ([ROOT / "fixtures"], "is a folder: name the logs in it"),
        (["missing.log"], "Path 'missing.log' does not exist"),
        ([LOGS[0], "--cost-per-gpu-hour", "-3"], "-3.0 is not in the range x>0"),
        ([LOGS[0], "--gpus", "0"], "0 is not in the range x>=1"),
        ([LOGS[0], "--ideal-step", "fast"], "'fast' is not a duration"),
        ([LOGS[0], "--with", LOGS[0]], "not a monitor log that traceq knows"),
    ],
)
def test_wrong_use_is_said_in_a_line(arguments, message):
    outcome = CliRunner().invoke(main, ["goodput", *map(str, arguments)])
    assert outcome.exit_code in (1, 2)
    assert message in outcome.output
    assert "Traceback" not in outcome.output


def test_a_file_that_is_no_log_says_what_is_read(tmp_path):
    (tmp_path / "notes.txt").write_text("buy milk\n")
    message = run(tmp_path / "notes.txt", status=1)
    assert "not a training log that traceq knows" in message
    assert "sacct -P and kubectl get pod -o json" in message


def test_what_is_read_is_not_overwritten(tmp_path):
    log = many_failures(tmp_path / "run.jsonl", 1)
    assert "is the input: name another file to write" in run(log, "--save", log, status=2)
