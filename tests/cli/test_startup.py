"""What answers at once: help and import load nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from traceq import __main__ as main_module

HEAVY = {"duckdb", "pyarrow", "pandas", "numpy", "matplotlib", "torch", "rich", "prompt_toolkit", "pygments"}


def loaded_by(code):
    """Names of the modules in memory after `code` ran in a new process."""
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


COMMANDS = (
    "collectives",
    "compile-log",
    "kernels",
    "ingest",
    "report",
    "compare",
    "check",
    "baseline",
    "verify",
    "tradeoff",
    "goodput",
    "estimate",
    "replay-op",
    "whatif",
    "sql",
    "shell",
    "tables",
    "record",
    "experiment",
    "doctor",
    "upgrade",
    "demo",
    "help",
)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["help", "tasks"], *([name, "--help"] for name in COMMANDS)]
)
def test_help_loads_nothing_heavy(arguments):
    # The options of commands are records: with msgspec `report --help` takes four fifths of what it took with dataclasses.
    heavy = HEAVY if arguments[0] in COMMANDS else HEAVY | {"msgspec"}
    assert loaded_by(f"from traceq.cli import main; main({arguments!r})") & heavy == set()


def click_help(columns):
    code = "from traceq.cli import main; main(['--help'], prog_name='traceq')"
    environment = {**os.environ, "COLUMNS": columns}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_the_help_that_is_kept_is_that_of_click():
    assert (Path(main_module.__file__).parent / "cli" / "help.txt").read_text("utf-8") == click_help("80")


@pytest.mark.parametrize(("columns", "is_loaded"), [(None, False), ("60", True), ("200", True)])
def test_help_is_that_of_click_where_click_is_not_loaded(columns, is_loaded):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {} if columns is None else {"COLUMNS": columns}
    script = "import sys; sys.argv = ['traceq', '-h']; from traceq.__main__ import run\ntry:\n    run()\nfinally:\n"
    script += "    print('click' in sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr.strip() == str(is_loaded)
    assert done.stdout == click_help(columns or "80")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_help_that_cannot_be_written_is_an_error():
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "traceq", "--help"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        ["traceq: error: No space left on device"],
    )


def test_help_loads_no_command():
    modules = loaded_by("from traceq.cli import main; main(['--help'])")
    assert modules & {f"traceq.cli.{name}" for name in COMMANDS} == set()


def test_import_loads_nothing_heavy():
    assert loaded_by("import traceq; dir(traceq); traceq.TraceqError") & (HEAVY | {"click", "msgspec"}) == set()


@pytest.mark.parametrize(
    ("command", "finds"), [("absent.json", "no pandas"), ("report", "no pandas"), ("sql", "pandas")]
)
def test_what_prints_no_data_frames_does_without_pandas(command, finds):
    script = (
        f"import sys; sys.argv = ['traceq', {command!r}]\nfrom traceq.cli import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "try:\n    import pandas\n    print('pandas')\nexcept ModuleNotFoundError:\n    print('no pandas')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == finds


def test_python_m_traceq_is_traceq():
    done = subprocess.run([sys.executable, "-m", "traceq", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("traceq 0.")
