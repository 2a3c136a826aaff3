from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from traceq.cli import _progress
from traceq.cli.ingest import summarize
from traceq.common.limits import limits
from traceq.common.process import usable_cpus
from traceq.loading.ingest import IngestedTrace, IngestResult

KERNEL = {
    "ph": "X",
    "cat": "kernel",
    "name": "k",
    "pid": 0,
    "tid": 7,
    "ts": 1,
    "dur": 2,
    "args": {"device": 0, "stream": 7},
}


@pytest.fixture
def trace(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = tmp_path / "t.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [KERNEL, {**KERNEL, "ts": 10}]}))
    return path


def test_one_line_says_what_was_made(traceq, trace):
    outcome = traceq("ingest", trace)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout.startswith("t.duckdb: 1 trace, 2 GPU slices, 0 host slices, ")
    assert outcome.stdout.count("\n") == 1


def test_again_is_a_no_op(traceq, trace):
    traceq("ingest", trace)
    before = Path("t.duckdb").read_bytes()
    assert traceq("ingest", trace).stdout == "t.duckdb: already there, nothing to do\n"
    assert Path("t.duckdb").read_bytes() == before
    assert "1 trace," in traceq("ingest", "--force", trace).stdout


def test_options_reach_the_store(traceq, monkeypatch):
    asked = {}

    def ingest(sources, database, traces, **options):
        asked.update(sources=sources, database=database, **structs.asdict(traces), **options)
        asked.update(memory=limits().memory, jobs=limits().jobs)
        return IngestResult(Path("x.duckdb"), (), ())

    monkeypatch.setattr("traceq.app.ingest.ingest", ingest)
    traceq(
        "ingest",
        "a",
        "b",
        "-o",
        "x.duckdb",
        "--run",
        "r",
        "--jobs",
        "3",
        "--force",
        "--step-range",
        "^s",
        "--steps-per",
        "1/2",
        "--window",
        "1s..2s",
        "--capture",
        "c",
        "--axes",
        "tp=8,dp=4",
        "--memory-limit",
        "2GiB",
        "--cluster",
        "tcp://head:8786",
        "--wait",
        "2min",
    )
    assert callable(asked.pop("failed"))
    assert asked == {
        "sources": ("a", "b"), "database": "x.duckdb", "run": "r", "jobs": 3, "force": True, "step_range": "^s",
        "steps_per": "1/2", "window": "1s..2s", "memory": 2 << 30, "capture": ("c",), "inductor": (),
        "axes": "tp=8,dp=4", "logs": (), "offset": None, "log_formats": (), "cluster": "tcp://head:8786", "wait": 120.0,
    }  # fmt: skip
    traceq("ingest", "a")
    assert (asked["database"], asked["jobs"]) == (None, usable_cpus())


@pytest.mark.parametrize(
    "arguments",
    [(), ("x", "--jobs", "0"), ("x", "--step-range", "("), ("x", "--steps-per", "0"), ("x", "--window", "2s..1s")],
)
def test_wrong_usage_exits_2(traceq, arguments):
    assert traceq("ingest", *arguments).exit_code == 2


def test_a_missing_file_is_one_line(traceq, tmp_path):
    outcome = traceq("ingest", tmp_path / "no\n\x1btrace")
    assert (outcome.exit_code, outcome.stderr.count("\n")) == (1, 1)
    assert r"no\n\x1btrace: no such file" in outcome.stderr


@pytest.mark.parametrize(
    ("counts", "skipped", "line"),
    [
        ([(1, 2000, 1)], 0, "d: 1 trace, 2,000 GPU slices, 1 host slice, 1 note"),
        ([(1, 2, 0), (3, 4, 5)], 0, "d: 2 traces, 6 GPU slices, 4 host slices, 5 notes"),
        ([(0, 0, 0)], 2, "d: 1 trace, 0 GPU slices, 0 host slices, 0 notes, 2 already there"),
        ([], 2, "d: already there, nothing to do"),
    ],
)
def test_the_summary_counts(counts, skipped, line):
    traces = tuple(
        IngestedTrace(Path("t"), number, cpu_slices=cpu, gpu_slices=gpu, notes=notes)
        for number, (cpu, gpu, notes) in enumerate(counts)
    )
    assert summarize(IngestResult(Path("d"), traces, (Path("s"),) * skipped)) == line


def test_the_bar_shows_what_is_done_on_a_terminal(monkeypatch):
    file = io.StringIO()
    console = _progress.Console
    monkeypatch.setattr(_progress, "Console", lambda **_: console(file=file, force_terminal=True, width=100))
    bar = _progress.ProgressBar()
    bar.start(2_000_000)
    bar.advance(1_000_000, 500)
    detail = bar._bar.tasks[0].fields["detail"]
    assert re.fullmatch(r"976.6 KiB of 1.9 MiB, [\d,]+ rows/s", detail)
    bar.analyse("steps", 0.5)
    bar.judge()
    bar.finish()
    assert bar._bar.tasks[0].completed == 0.85
    assert "123 rules" in file.getvalue().replace(str(len(_progress.RULES)), "123")


@pytest.mark.parametrize(
    ("elapsed", "done", "shown"),
    [(0.0, 0.0, ""), (30.0, 0.01, ""), (30.0, 0.25, "90 s left"), (30.0, 0.1, "4 min left"), (12.0, 0.9, "1 s left")],
)
def test_the_bar_says_how_long_the_rest_takes(elapsed, done, shown):
    clock = [1000.0]
    bar = _progress.bars.Progress(_progress._TimeLeft(), get_time=lambda: clock[0])
    task = bar.add_task("reading", total=1.0)
    clock[0] += elapsed
    bar.update(task, completed=done)
    assert bar.columns[0].render(bar.tasks[0]).plain == shown
