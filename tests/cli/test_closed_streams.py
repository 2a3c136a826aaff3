"""Standard streams that whoever called traceq has closed: `traceq report DB >&-`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from traceq.cli import main

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Calls that write to standard output; of the other commands it is their help.
CALLS = {
    "report": ("report", "DB"),
    "sql": ("sql", "DB", "select 1"),
    "explain": ("explain", "slow-gpu"),
    "rules": ("rules", "list"),
    "completion": ("completion", "zsh"),
    "doctor": ("doctor", "--plan"),
    "cache": ("cache", "show"),
    "record": ("record", "--dry-run", "--", "true"),
}

IN, OUT, ERR = range(3)
CLOSED = "traceq: error: standard output is closed\n"

TRACE = json.dumps({
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1, "dur": 10, "args": {"device": 0, "stream": 7}}
    ],
})  # fmt: skip

# Streams that are closed and a call: its exit status, and what it writes to stderr.
ENDS = {
    **{
        ((OUT,), call): (1, CLOSED)
        for call in (*(CALLS.get(name, (name, "--help")) for name in main.lazy), ("--help",), ("--version",))
    },
    **{
        ((OUT,), call): (1, CLOSED) for call in (("check", "DB", "--budgets", "budgets.toml"), ("ingest", "trace.json"))
    },
    ((OUT,), ("compare", "DB", "DB")): (1, CLOSED),
    ((OUT,), ("mcp",)): (0, ""),
    ((IN,), ("mcp",)): (0, ""),
    ((IN, ERR), ("check", "DB", "--budgets", "budgets.toml")): (3, ""),
    ((IN, OUT, ERR), ("ingest", "trace.json", "-o", "second.duckdb")): (1, ""),
    ((IN, OUT, ERR), ("export", "DB", "-o", "written.csv", "--table", "gpu_slice")): (0, ""),
    ((IN,), ("sql", "DB", "-")): (1, "traceq: error: the query is empty; write one, e.g.: select * from trace\n"),
    ((IN,), ("shell", "DB")): (0, ""),
    ((IN, OUT, ERR), ("sql", "DB", "select 1 as n", "-o", "written.json")): (0, ""),
    ((IN, OUT, ERR), ("sql", "DB", "nope")): (1, ""),
    ((IN, OUT, ERR), ("completion", "fish")): (1, ""),
    ((IN, OUT, ERR), ("nope",)): (2, ""),
}

# Each call runs in a fork, in which the imports are done already; a traceback exits with 99.
PROGRAM = """
import gc, json, os, sys, tempfile
import duckdb, traceq.app.report, traceq.cli.report, traceq.cli.sql
from traceq.__main__ import run

gc.freeze()
answers = []
for closed, arguments in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            os.dup2(errors.fileno(), 2)
            for number in closed:
                os.close(number)
                setattr(sys, ("stdin", "stdout", "stderr")[number], None)
            sys.argv = ["traceq", *arguments]
            try:
                run()
                sys.stdout.flush()
            except SystemExit as error:
                os._exit(error.code or 0)
            except BaseException:
                os._exit(99)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        answers.append((os.waitstatus_to_exitcode(status), errors.read().decode()))
print(json.dumps(answers))
"""


def test_every_command_ends_well_whatever_streams_are_closed(made_once, tmp_path):
    shutil.copyfile(made_once, tmp_path / "DB")
    (tmp_path / "trace.json").write_text(TRACE)
    (tmp_path / "budgets.toml").write_text('[[sql]]\nname = "a"\nquery = "select 1"\nmax = 0\n')
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(list(ENDS))],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ended = map(tuple, json.loads(done.stdout.splitlines()[-1]))
    assert dict(zip(ENDS, ended, strict=True)) == ENDS
    assert json.loads((tmp_path / "written.json").read_text()) == [{"n": 1}]
    # no file has taken the number of a closed stream, and got what was written to it
    assert (tmp_path / "DB").read_bytes() == made_once.read_bytes()
