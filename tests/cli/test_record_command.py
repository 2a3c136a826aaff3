from __future__ import annotations

import json
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from importers.snapshots import make_history, make_snapshot

from traceq.capture import record
from traceq.capture.attach import attach
from traceq.common.owner import owner_word

EXPORT = Path(__file__).parents[2] / "fixtures" / "run" / "nsys_2026.2.sqlite"


@pytest.fixture
def leaves(monkeypatch):
    """Makes what is recorded be the given exit code, traces and reasons."""

    def arrange(exit_code=0, traces=(), reasons=()):
        monkeypatch.setattr(record, "record", lambda *_: record.Recording(exit_code, tuple(traces), tuple(reasons)))

    return arrange


@pytest.mark.slow
def test_the_report_goes_to_stdout_and_the_rest_to_stderr(traceq, leaves, tmp_path):
    trace = tmp_path / "run.sqlite"
    trace.write_bytes(EXPORT.read_bytes())
    leaves(traces=[trace], reasons=["rank 1: \x1b[31mtold"])
    outcome = traceq("record", "-o", tmp_path, "--", "python", "run.py")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("run.sqlite · Nsight Systems · ")
    said = outcome.stderr.splitlines()
    assert said[0] == "traceq: rank 1: \\x1b[31mtold"
    # run.sqlite is there, so the name is the next one.
    assert said[1].startswith(f"traceq: {tmp_path / 'run-2.duckdb'}: 1 trace, ")
    # What is next the report says itself.
    assert said[2:] == [f"traceq: trace: {trace}"]
    assert f"{tmp_path / 'run-2.duckdb'}\n" in outcome.stdout.partition("Next:")[2]


def test_without_a_report_the_next_command_is_the_report(traceq, leaves, tmp_path):
    trace = tmp_path / "it.sqlite"
    trace.write_bytes(EXPORT.read_bytes())
    leaves(traces=[trace])
    outcome = traceq("record", "--no-report", "-o", tmp_path, "--", "python", "run.py")
    assert outcome.stdout == ""
    assert outcome.stderr.endswith(f"traceq: next: traceq report {tmp_path / 'run.duckdb'}\n")


def test_the_memory_history_beside_a_trace_is_read_with_it(traceq, leaves, tmp_path):
    trace = tmp_path / "run.rank0.pt.trace.json.gz"
    trace.write_bytes((EXPORT.parent / "kineto_2026.json.gz").read_bytes())
    history = make_history("""
        1775078551412316 alloc 100 64 main
        1775078551412325 free 100 64 main
    """)
    snapshot = tmp_path / "run.rank0.memory.pickle"
    snapshot.write_bytes(pickle.dumps(make_snapshot(history)))
    leaves(traces=[trace])
    outcome = traceq("record", "--no-report", "--memory-history", "-o", tmp_path, "--", "python", "run.py")
    assert f"traceq: memory history: {snapshot}\n" in outcome.stderr
    (database,) = tmp_path.glob("*.duckdb")
    counted = traceq("sql", database, "select count(*) from allocator_event")
    assert counted.stdout.split()[-1] == "2"


def test_a_memory_history_is_only_for_the_profiler_of_pytorch(traceq):
    outcome = traceq("record", "--backend", "nsys", "--memory-history", "--", "python", "run.py")
    assert outcome.exit_code == 2
    assert "--memory-history is for --backend torch" in outcome.stderr


@pytest.mark.parametrize(("program", "expected"), [(0, 1), (3, 3)])
def test_a_failed_ingest_does_not_hide_the_exit_code(traceq, leaves, tmp_path, program, expected):
    (tmp_path / "bad.json").write_text("no trace")
    leaves(program, traces=[tmp_path / "bad.json"])
    outcome = traceq("record", "-o", tmp_path, "--", "python", "run.py")
    assert outcome.exit_code == expected
    assert "traceq: error: " in outcome.stderr


def test_no_trace_is_a_line_and_the_exit_code_of_the_program(traceq, leaves, tmp_path):
    leaves(5, reasons=["no torch"])
    outcome = traceq("record", "-o", tmp_path, "--", "python", "run.py")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (5, "", "traceq: no torch\n")


def test_dry_run_prints_what_a_shell_understands_and_does_nothing(traceq, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/my own")
    directory = tmp_path / "new one"
    outcome = traceq("record", "--dry-run", "--steps", "7", "-o", directory, "--", "python", "it's.py", "--steps", "9")
    assert outcome.exit_code == 0
    assert not directory.exists()
    first, second, *command = shlex.split(outcome.stdout.replace("\\\n", ""))
    assert command == ["python", "it's.py", "--steps", "9"]
    assert first.startswith("PYTHONPATH=/")
    assert first.endswith(":/my own")
    options = json.loads(second.removeprefix("TRACEQ_RECORD="))
    assert options == {
        "backend": "torch",
        "directory": str(directory),
        "name": "it_s",
        "steps": 7,
        "most_steps": 7,
        "warmup": 2,
        "skip": 5,
        "memory": False,
        "stacks": False,
        "samples": True,
        "printed": True,
        "memory_history": False,
        "workers": True,
        "status": str(directory / f".it_s.{owner_word()}.status"),
    }


def test_dry_run_of_nsys_needs_no_nsys(traceq, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = traceq("record", "--dry-run", "--backend", "nsys", "-o", tmp_path, "python", "run.py")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines()[-1].startswith("nsys profile --trace=")
    assert outcome.stdout.endswith(" python run.py\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "No command to run: traceq record [OPTIONS] -- python train.py"),
        (["--steps", "0", "python"], 2, "--steps 0 is for --backend nsys"),
        (["--stpes", "5", "python"], 2, "No such option"),
        (["nosuchprogram"], 1, "traceq: error: nosuchprogram: no such command on PATH; "),
        (["-o", "/dev/null/x", "sh"], 1, "traceq: error: /dev/null/x: cannot be written: Not a directory; "),
    ],
)
def test_wrong_uses_are_told(traceq, arguments, code, message):
    outcome = traceq("record", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (code, "")
    assert message in outcome.stderr.splitlines()[-1]


def test_a_program_that_a_signal_ended_has_the_code_of_a_shell(tmp_path):
    command = [sys.executable, "-m", "traceq", "record", "-o", str(tmp_path), "--", "sh", "-c", "echo out; kill -9 $$"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (128 + 9, "out\n")
    assert done.stderr.count("\n") == 1


def test_what_a_killed_recording_left_goes_with_the_next(traceq, tmp_path):
    number, _, machine = owner_word().split("-")
    gone = f"{number}-1-{machine}"
    left, other = (
        [tmp_path / f".a.{gone}.status", tmp_path / f".a.duckdb.{gone}.0a1b2c3d.ingest"],
        tmp_path / ".b.status",
    )
    for each in (*left, other):
        each.mkdir()
        (each / "1.jsonl").touch()
    assert traceq("record", "-o", tmp_path, "--", sys.executable, "-c", "").exit_code == 0
    assert [each.exists() for each in (*left, other)] == [False, False, True]
    assert [path for path in tmp_path.iterdir() if path.suffix == ".status"] == [other]


def test_what_runs_already_is_asked_and_reported_on(traceq, monkeypatch, tmp_path):
    trace = tmp_path / "vllm.sqlite"
    trace.write_bytes(EXPORT.read_bytes())
    asked = []
    monkeypatch.setattr(
        attach, "ask_program", lambda request: asked.append(request) or attach.Attached("vllm", (trace,))
    )
    outcome = traceq("record", "--attach", "vllm", "--seconds", 2, "--steps", 4, "--no-report", "-o", tmp_path)
    assert outcome.exit_code == 0
    assert asked == [attach.AttachRequest("vllm", tmp_path, 4, 2.0, 300.0)]
    assert outcome.stderr.endswith(f"traceq: next: traceq report {tmp_path / 'vllm.duckdb'}\n")


def test_stacks_of_a_process_go_to_stdout(traceq, monkeypatch, tmp_path):
    found = attach.Attached("pid7", stacks="process 7\n\x1b[31m", file=tmp_path / "pid7.stacks.txt")
    monkeypatch.setattr(attach, "ask_program", lambda _: found)
    outcome = traceq("record", "--attach", "7", "-o", tmp_path)
    assert (outcome.exit_code, outcome.stdout) == (0, "process 7\n\\x1b[31m")
    assert outcome.stderr == f"traceq: stacks: {tmp_path / 'pid7.stacks.txt'}\n"


@pytest.mark.parametrize("extra", [["--pid", "3"], ["--seconds", "5"], ["--wait", "9"], ["--trace-dir", "."]])
def test_options_of_attach_are_refused_without_it(traceq, extra):
    outcome = traceq("record", *extra, "--dry-run", "--", "python", "run.py")
    assert outcome.exit_code == 2
    assert f"{extra[0]} goes with --attach only." in outcome.stderr


@pytest.mark.parametrize("extra", [["--memory"], ["--backend", "nsys"], ["--dry-run"], ["--", "python", "run.py"]])
def test_what_runs_already_cannot_be_started(traceq, extra):
    outcome = traceq("record", "--attach", "7", *extra)
    assert outcome.exit_code == 2
    assert "--attach asks a program that is already running" in outcome.stderr
