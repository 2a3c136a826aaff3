"""How a run ends: one line and an exit status, whatever goes wrong."""

from __future__ import annotations

import _thread
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import click
import pytest

from traceq.common.process import lack_of_threads
from traceq.errors import QueryError

NO_THREADS = (
    "no more threads may be started: raise the limit of the user (ulimit -u) or of the container (pids),"
    " end other processes, or use fewer CPUs (taskset) or --jobs"
)


@pytest.fixture
def failing(monkeypatch):
    """Makes `traceq tables` raise the given error."""

    def fail(error):
        def command():
            raise error

        monkeypatch.setattr("traceq.cli.tables.tables", click.Command("tables", callback=command))

    return fail


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (QueryError("no\n\x1b[31msuch"), 1, r"traceq: error: no\n\x1b[31msuch"),
        (QueryError("a path \udcff"), 1, r"traceq: error: a path \udcff"),
        (OSError(28, "No space left on device", "x.csv"), 1, "traceq: error: x.csv: No space left on device"),
        (OSError("odd"), 1, "traceq: error: odd"),
        (RuntimeError("can't start new thread"), 1, f"traceq: error: {NO_THREADS}"),
        (KeyboardInterrupt(), 130, "traceq: interrupted"),
    ],
)
def test_an_error_is_one_line(traceq, failing, error, status, line):
    failing(error)
    outcome = traceq("tables")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (status, "", f"{line}\n")


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("odd")])
def test_a_bug_is_not_hidden(traceq, failing, error):
    failing(error)
    assert traceq("tables").exception is error


@pytest.mark.parametrize("arguments", [["nope"], ["sql"], ["--nope"], ["tables", "--format", "xml"]])
def test_wrong_usage_exits_2(traceq, arguments):
    assert traceq(*arguments).exit_code == 2


def test_a_database_that_is_none_is_one_line(traceq, tmp_path):
    (tmp_path / "x").write_text("no database" * 1000)
    for path in (tmp_path / "x", tmp_path / "missing", tmp_path):
        for command in (("sql", path, "select 1"), ("shell", path)):
            outcome = traceq(*command)
            assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)


@pytest.fixture
def program():
    """Starts traceq in a process of its own, which does not outlive the test."""
    started = []

    def start(*arguments, **options):
        started.append(subprocess.Popen([sys.executable, "-m", "traceq", *map(str, arguments)], **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


@pytest.mark.sample(3)
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("name", ["csv", "json", "text", "md", "parquet"])
def test_a_reader_that_has_enough_is_no_error(program, database, name):
    run = program(
        "sql", database, "from range(200000)", "--format", name, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdout.read(5)
    run.stdout.close()
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait() == 128 + signal.SIGPIPE


# Has its first rows at once, and would go on for minutes.
LONG = "select a.range from range(100000000000) a where a.range < 30000 or hash(a.range) = 0"


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_a_reader_that_has_enough_stops_the_query(program, database):
    run = program("sql", database, LONG, "--format", "csv", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run.stdout.read(5)
    run.stdout.close()
    assert run.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(program, database):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        run = program("sql", database, "select 1", stdout=full, stderr=subprocess.PIPE)
        _, stderr = run.communicate()
    assert (run.returncode, stderr) == (1, b"traceq: error: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_ctrl_c_stops_a_running_query(program, database):
    run = program(
        "sql", database, LONG, "--format", "csv", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert run.stdout.read(5) == b'"rang'
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=60)
    assert (run.returncode, stderr) == (130, b"traceq: interrupted\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits that hold")
def test_too_few_addresses_are_one_line_and_no_crash_of_a_library(program, database):
    limits = (900_000_000, 900_000_000)
    run = program(
        "report", database, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits),
    )  # fmt: skip
    stdout, stderr = run.communicate()
    assert (run.returncode, stdout) == (1, b"")
    assert stderr.startswith(b"traceq: error: the address space is limited to 858 MiB")
    assert stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        (
            (11, 11),
            1,
            b"traceq: error: this process may open 11 files (ulimit -n), and traceq needs 64: raise the limit\n",
        ),
        ((11, 256), 0, b""),
    ],
)
def test_too_few_open_files_are_more_where_they_may_be_or_one_line(program, database, limits, code, said):
    run = program(
        "sql", database, "select 1", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
    )  # fmt: skip
    _, stderr = run.communicate()
    assert (run.returncode, stderr) == (code, said)


def test_threads_that_are_lacking_are_counted(monkeypatch):
    start, left = _thread.start_new_thread, [None] * 87

    def limited(*arguments):
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        return start(*arguments)

    monkeypatch.setattr("traceq.common.process._thread.start_new_thread", limited)
    monkeypatch.setattr("traceq.common.process.usable_cpus", lambda: 4)
    assert lack_of_threads() is None
    assert lack_of_threads() == f"{NO_THREADS}; 44 are needed, and 43 were there"


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root, to be a user who has a limit",
)
@pytest.mark.parametrize(("most", "code"), [(1, 1), (20, 1), (400, 0)])
def test_too_few_threads_are_one_line(tmp_path, most, code):
    user = str(2_000_000 + os.getpid())
    os.chown(tmp_path, int(user), int(user))
    as_user = ("setpriv", "--reuid", user, "--regid", user, "--clear-groups")
    rights = ("--inh-caps", "+dac_override", "--ambient-caps", "+dac_override")
    run = subprocess.run(
        [*as_user, *rights, sys.executable, "-m", "traceq", "tables", "trace"],
        cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (most, most)),
    )  # fmt: skip
    assert (run.returncode, run.stderr.count("\n")) == (code, code)
    assert run.stderr.startswith(f"traceq: error: {NO_THREADS}" if code else "")


@pytest.mark.slow
def test_output_that_the_terminal_cannot_show_is_escaped(program, tmp_path):
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}
    (tmp_path / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [kernel]}))
    run = program(
        "ingest", tmp_path / "t.json", "-o", tmp_path / "漢.duckdb", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    stdout, stderr = run.communicate()
    assert (run.returncode, stderr) == (0, b"")
    assert rb"\u6f22.duckdb: 1 trace" in stdout
