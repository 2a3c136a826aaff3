"""What answers at once: help and import load nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"duckdb", "pyarrow", "pandas", "numpy", "matplotlib", "torch", "rich", "prompt_toolkit", "pygments", "msgspec"}


def loaded_by(code):
    """Names of the modules in memory after `code` ran in a new process."""
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


COMMANDS = (
    "ingest",
    "report",
    "compare",
    "check",
    "baseline",
    "verify",
    "tradeoff",
    "whatif",
    "sql",
    "shell",
    "tables",
    "record",
    "experiment",
    "doctor",
    "upgrade",
    "demo",
)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_nothing_heavy(arguments):
    assert loaded_by(f"from traceq.cli import main; main({arguments!r})") & HEAVY == set()


def test_help_loads_no_command():
    modules = loaded_by("from traceq.cli import main; main(['--help'])")
    assert modules & {f"traceq.cli.{name}" for name in COMMANDS} == set()


def test_import_loads_nothing_heavy():
    assert loaded_by("import traceq; dir(traceq); traceq.TraceqError") & (HEAVY | {"click"}) == set()


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
