"""What a shell completes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from traceq.cli import main


def completed(*words):
    made = ShellComplete(main, {}, "traceq", "_TRACEQ_COMPLETE")
    *typed, begun = words
    return [each.value for each in made.get_completions(list(typed), begun)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("rep",), ["report"]),
        (("conv",), ["convert"]),
        (("dataset", "comp"), ["compact"]),
        (("explain", "synchronous"), ["synchronous-loader"]),
        (("explain", "slow-g"), ["slow-gpu"]),
        (("explain", "waiting-n"), ["waiting-not-network"]),
        (("tables", "gpu_sl"), ["gpu_slice"]),
        (("doctor", "--plan", "mem"), ["memory"]),
        (("report", "--goal", "l"), ["latency"]),
    ],
)
def test_names_are_completed(words, found):
    assert completed(*words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(traceq, shell):
    assert "_TRACEQ_COMPLETE" in traceq("completion", shell).stdout


def test_completing_a_command_loads_no_engine():
    code = "import sys, traceq.cli.explain; print({'duckdb', 'pyarrow', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
