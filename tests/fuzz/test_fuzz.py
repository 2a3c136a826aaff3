"""A small selection of tries with fixed seeds, and the files of all failures that were found: each ends well.

More by hand: `python tests/fuzz/run.py --tries 10000 --seed 1`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent


def _run(*arguments: str) -> None:
    """In a process of its own: it forks for each try, which one with threads must not."""
    ended = subprocess.run(
        [sys.executable, str(_HERE / "run.py"), "--jobs", "1", *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


@pytest.mark.parametrize(("format_", "tries"), [("kineto", 12), ("nsys", 24), ("snapshot", 16), ("log", 16)])
def test_importers_end_well_on_damaged_files(format_, tries):
    _run("--format", format_, "--tries", str(tries), "--seed", "25", "--depth", "read")


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["kineto", "nsys"])
def test_reports_end_well_on_damaged_files(format_):
    _run("--format", format_, "--tries", "2", "--seed", "25")


@pytest.mark.slow
def test_many_tries_end_well():
    _run("--tries", "100", "--seed", "26")


@pytest.mark.slow
def test_what_failed_once_ends_well():
    _run("--corpus")


def test_the_target_of_atheris_reads_what_it_is_given():
    """A file, without atheris."""
    given = [
        sys.executable,
        str(_HERE / "atheris_target.py"),
        "kineto",
        str(_HERE / "corpus" / "times_at_both_ends.json"),
    ]
    ended = subprocess.run(given, check=False, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
