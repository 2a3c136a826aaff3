from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from traceq.cli import main
from traceq.database.connect import connect
from traceq.database.empty import create_database
from traceq.loading.ingest import ingest


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path / "in")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("database")
    return ingest([write_trace(folder)], folder / "t.duckdb").database


def write_trace(folder):
    def event(cat, name, ts, dur, tid, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur, "args": args}

    events = []
    for number in range(3):
        ts = 1000 * number
        events += [
            event("user_annotation", f"ProfilerStep#{number}", ts, 1000, 1),
            event("user_annotation", f"work {number}", ts, 500, 1),
            event("cuda_runtime", "cudaLaunchKernel", ts + 10, 5, 1, correlation=number),
            event("kernel", "gemm", ts + 20, 600, 7, device=0, stream=7, correlation=number),
        ]
    path = folder / "t.json"
    folder.mkdir(exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def run(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(main, ["report", *map(str, arguments)])


def test_a_trace_is_reported_and_nothing_is_left_beside_it(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "in"))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = run(trace)
    assert result.exit_code == 0, result.output
    assert "1.000 ms per step (mean of 3 steps, median 1.000 ms)" in result.stdout
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["t.json"]


@pytest.mark.parametrize("command", ["report", "export"])
def test_the_trace_that_a_database_was_made_from_is_not_overwritten(command, tmp_path):
    path = write_trace(tmp_path / "in")
    made = ingest([path], tmp_path / "t.duckdb").database
    before = path.read_bytes()
    result = CliRunner().invoke(main, [command, str(made), "-o", str(path)])
    assert result.exit_code == 2
    assert "or that the database was made from: name another file" in result.output
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_database_gives_the_same_report_as_its_trace(trace, database):
    shown = run(trace).stdout.replace(str(trace), "SOURCE"), run(database).stdout.replace(str(database), "SOURCE")
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("name", "arguments", "start"),
    [
        ("r.md", (), "# traceq report"),
        ("r.MD", (), "# traceq report"),
        ("r.txt", (), "t.json · PyTorch Profiler"),
        ("r.json", (), "{\n"),
        ("r.json", ("--format", "text"), "t.json · PyTorch Profiler"),
        ("r", ("--format", "json"), "{\n"),
    ],
)
def test_the_format_follows_the_suffix_unless_it_is_given(database, tmp_path, name, arguments, start):
    output = tmp_path / name
    output.write_text("an older report")
    result = run(database, "-o", output, *arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    assert output.read_text("utf-8").startswith(start)


def test_top_bounds_the_findings(database):
    assert "What to fix" in run(database, "--top", 1).stdout
    assert run(database, "--top", 0).exit_code == 2


def test_step_range_names_the_steps_of_a_trace(trace):
    (content,) = json.loads(run(trace, "--step-range", "^work", "--format", "json").stdout)["traces"]
    assert content["steps"]["source"] == "step_range"
    assert content["steps"]["example"] == "work 0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "r.pdf"), "no format has this suffix"),
        (("--format", "pdf"), "is not one of"),
        (("--step-range", "("), "not a regular expression"),
        (("--step-range", "^work"), "The steps of a database are fixed"),
        (("-o", "{source}", "--format", "md"), "is the input"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_to_do(database, arguments, message):
    before = database.read_bytes()
    result = run(database, *(each.format(source=database) for each in arguments))
    assert result.exit_code == 2
    assert message in result.stderr
    assert database.read_bytes() == before


def test_a_trace_found_in_a_directory_is_not_overwritten(trace):
    before = trace.read_bytes()
    result = run(trace.parent, "-o", trace)
    assert result.exit_code == 2
    assert "is a trace that is read" in result.stderr
    assert trace.read_bytes() == before


@pytest.mark.parametrize("name", ["missing/r.md", "file/r.md"])
def test_an_output_that_cannot_be_written_is_one_line(database, tmp_path, name):
    (tmp_path / "file").write_text("")
    result = run(database, "-o", tmp_path / name)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize("content", [None, b"", b"no trace", b"\0" * 8 + b"DUCK" + b"\0" * 100])
def test_what_is_neither_trace_nor_database_is_one_line(tmp_path, content):
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    result = run(path)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert str(path) in result.stderr


@pytest.fixture
def nothing(tmp_path):
    """A database of a trace of which nothing was recorded."""
    path = tmp_path / "t.duckdb"
    create_database(path)
    with duckdb.connect(str(path)) as connection:
        trace = "select 1 as trace_id, 'in/t.json' as path, '0' as sha256, 1 as size_bytes, 'chrome' as format"
        connection.execute(f"insert into trace by name {trace}, now()::timestamp as ingested_at, 0 as ts, 9 as dur")
    return path


@pytest.mark.parametrize("options", [("--format", "json"), ("--ticket",), ("-o", "r.html")])
def test_a_trace_of_which_nothing_was_recorded_is_an_error_that_says_what_to_do(
    nothing, options, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    result = run(nothing, *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("traceq: error: t.json: nothing recorded: ")
    assert result.stderr.endswith("Record steps again: traceq record -- python train.py\n")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_a_database_of_no_trace_is_one_line(tmp_path):
    path = tmp_path / "t.duckdb"
    create_database(path)
    result = run(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"traceq: error: {path}: nothing recorded: ")


def test_samples_of_a_monitor_are_reported(nothing):
    with duckdb.connect(str(nothing)) as connection:
        connection.execute(
            "insert into counter by name select 1 as trace_id, 'gpu_power' as name, 5 as ts, 300.0 as value"
        )
    assert run(nothing).exit_code == 0


def test_a_damaged_database_is_one_line(trace, tmp_path):
    damaged = ingest([trace], tmp_path / "d.duckdb").database
    with connect(damaged, read_only=False) as connection:
        connection.execute("drop table step_stats")
    result = run(damaged)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "lacks tables (step_stats)" in result.stderr


def test_a_terminal_that_knows_no_blocks_gets_question_marks(database):
    done = subprocess.run(
        [sys.executable, "-m", "traceq", "report", str(database)],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"???" in done.stdout


def test_help_does_not_load_the_database_engine():
    code = "import sys, traceq.cli.report; print({'duckdb', 'pyarrow', 'pandas', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_savings_are_worth_money_where_the_price_is_said():
    trace = Path(__file__).parents[2] / "fixtures" / "run" / "kineto_2026.json.gz"
    assert "(saves 66.1 % = $1.65 per GPU hour: " in run(trace, "--cost-per-gpu-hour", "2.5").stdout
    assert "(66.1 % = $1.65 per GPU hour), " in run(trace, "--cost-per-gpu-hour", "2.5", "--finding", "F1").stdout
    assert "GPU hour" not in run(trace).stdout
    assert run(trace, "--cost-per-gpu-hour", "0").exit_code == 2


def test_a_training_log_beside_the_trace_says_where_the_whole_run_went():
    fixtures = Path(__file__).parents[2] / "fixtures"
    log = fixtures / "run_logs" / "failures" / "train.log"
    text = run(fixtures / "run" / "kineto_2026.json.gz", "--with", log, "--full", "--no-cache").stdout
    assert "Of 2 h 53 min of the run 57.8 % went into steps that count; into failure to restart 29 min 15 s," in text
