"""traceq compile-log, and logs of torch.compile beside a trace: what is printed, kept and refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from traceq.cli import main

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "fixtures" / "compile_logs" / "many_causes.log"
TRACE = ROOT / "fixtures" / "run" / "kineto_2026.json.gz"


def run(*arguments, status=0):
    outcome = CliRunner().invoke(main, [*map(str, arguments)], env={"COLUMNS": "100"})
    assert outcome.exit_code == status, outcome.output
    return outcome.output


def test_the_screen(golden):
    text = run("compile-log", LOG)
    golden.check("compile_log.txt", text)
    assert len(text.splitlines()) <= 40


def test_a_page_has_all_and_json_adds_up():
    page = run("compile-log", LOG.parent, "--format", "html")
    assert all(name in page for name in ("print_sum", "loop_items", "call_excluded", "many_causes.py:74"))
    found = json.loads(run("compile-log", LOG, "--format", "json"))
    assert (
        sum(part["dur"] for part in found["parts"])
        == found["total_ns"]
        == sum(each["dur"] for each in found["functions"])
    )
    assert found["recompile_ns"] == sum(guard["dur"] or 0 for guard in found["guards"])
    assert len(found["graph_breaks"]) == 7


def test_the_rest_of_a_function_counts_once_for_all_its_versions():
    """print_sum has two versions, and both break at line 19; what was compiled of the rest is in functions."""
    found = json.loads(run("compile-log", LOG, "--format", "json"))
    rests = {row["line"]: row["dur"] for row in found["functions"] if "_resume_in_" in row["function"]}
    said = {row["line"]: row["rest_ns"] for row in found["graph_breaks"] if row["rest_ns"] is not None}
    assert said == {line: rests[line] for line in said}
    assert {19, 37} <= said.keys()


def test_compiling_the_backward_pass_counts(tmp_path):
    """PyTorch compiles it when it first runs, after the compilation of its function has ended."""
    before = json.loads(run("compile-log", LOG, "--format", "json"))
    text = LOG.read_text()
    for phase, at_us in (("B", 1_800_000_000_000_000), ("E", 1_800_000_000_500_000)):
        payload = json.dumps({"name": "entire_backward_compile", "ph": phase, "ts": at_us})
        digest = hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()
        fields = {"chromium_event": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": digest}
        text += f"V1130 10:58:55.343000 345 torch/_dynamo/utils.py:1] {json.dumps(fields)}\n\t{payload}\n"
    (tmp_path / "with_backward.log").write_text(text)
    after = json.loads(run("compile-log", tmp_path / "with_backward.log", "--format", "json"))
    half = 500_000_000
    assert after["total_ns"] == before["total_ns"] + half == sum(one["dur"] for one in after["functions"])
    assert after["total_ns"] == sum(one["dur"] for one in after["parts"])
    assert [one["dur"] for one in after["parts"] if one["part"] == "backward"] == [half]


def test_times_of_several_processes_say_so(tmp_path):
    lines = LOG.read_text().splitlines(keepends=True)
    for name in ("one.log", "two.log"):
        (tmp_path / name).write_text("".join(lines) + ("" if name == "one.log" else "\n"))
    text = " ".join(run("compile-log", tmp_path).split())
    assert "of 22.88 s in 44 compilations of 2 processes compile again" in text


def test_tables_are_kept(tmp_path):
    run("compile-log", LOG, "--save", tmp_path / "compile.duckdb")
    query = "select count(*) as breaks from graph_break where trace_id = 0"
    assert run("sql", tmp_path / "compile.duckdb", query, "--format", "csv").split() == ['"breaks"', "8"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["compile-log", TRACE],
            "not a structured log of torch.compile; run the program with TORCH_TRACE=DIR and name DIR",
        ),
        (["compile-log", ROOT / "fixtures" / "run"], "no file here is a structured log of torch.compile"),
        (
            ["report", LOG],
            "a log of torch.compile, not a trace; what it compiled is traceq compile-log many_causes.log",
        ),
        (
            ["report", TRACE, "--with", ROOT / "fixtures" / "run", "--no-cache"],
            "or a log of torch.compile, which a program writes",
        ),
    ],
)
def test_what_is_refused(arguments, says):
    assert says in " ".join(run(*arguments, status=1).split())


def test_a_log_of_another_time_is_kept_and_not_placed(tmp_path):
    database = tmp_path / "a.duckdb"
    run("ingest", TRACE, "--with", LOG.parent, "-o", database)
    query = "select is_placed, placement, (select count(ts) from compilation) as placed from compile_log"
    text = run("sql", database, query, "--format", "csv")
    assert "false" in text
    assert "not in the trace" in text or "does not say when it was recorded" in text
    assert text.rstrip().endswith(",0")
