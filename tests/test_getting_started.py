"""The commands of docs/getting-started.md, run as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# What these programs take depends on what else the machine does.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "getting-started.md").read_text("utf-8")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each marked command wrote, by the command."""
    folder = tmp_path_factory.mktemp("started")
    shutil.copy(ROOT / "docs" / "examples" / "slow_loader.py", folder)
    # `traceq` and `python` are those that run this test.
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "traceq").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m traceq "$@"\n')
    (binaries / "python").symlink_to(sys.executable)
    (binaries / "traceq").chmod(0o755)
    path = ":".join(filter(None, sys.path))
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PYTHONPATH": path, "COLUMNS": "100"}
    written = {}
    for block in re.findall(r"<!-- run -->\n```sh\n(.*?)```", PAGE, re.DOTALL):
        for command in block.splitlines():
            # Words of a shell without anything that only a shell does.
            done = subprocess.run(
                shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            written[command] = done.stdout
    return written


def output(told, start):
    (found,) = (text for command, text in told.items() if command.startswith(start))
    return found


def test_a_slow_loader_is_the_first_finding_with_the_line_that_repairs_it(told):
    report = output(told, "traceq record -o before")
    assert "Fix first: Load batches in worker processes" in report
    assert "DataLoader(..., num_workers=" in report.partition("Where a step goes")[0]


def test_the_finding_is_shown_explained_and_asked(told):
    assert output(told, "traceq report before").startswith("F1. Load batches in worker processes")
    assert output(told, "traceq explain F1").startswith("host-data-loading: ")
    assert "claimed" in output(told, "traceq sql before")


def test_after_the_fix_the_finding_is_gone_or_smaller(told):
    said = " ".join(output(told, "traceq verify").split())
    assert re.search(r"The finding is (gone|still there, but smaller)", said), said


def test_the_answers_of_the_exercises_are_those_of_the_page(told):
    assert "data loading" in output(told, "traceq demo")
    (saving,) = re.findall(r"saves (26\.0 %)", output(told, "traceq demo"))
    assert saving in PAGE
    assert "The step would be" in output(told, "traceq whatif demo")
    assert len(output(told, "traceq sql demo").splitlines()) == 7
    assert "profile_memory=True" in output(told, "traceq doctor --plan")
