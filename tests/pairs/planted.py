"""The programs of fixtures/make/programs: what is slow in each, and what a report of a recording of it has to say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, TypedDict

from pairs.measurements import Predicted
from traceq.diagnosis.finding import Finding

FOLDER = Path(__file__).parents[2] / "fixtures" / "make" / "programs"
MEASURED = Path(__file__).parents[2] / "fixtures" / "programs" / "measured.json"


class Planted(NamedTuple):
    """A flaw of a program, left out by `--fix FLAW`: the rules that may name it, and the text that names what is to blame.

    `needs` is a module besides PyTorch.
    """

    program: str
    flaw: str
    rules: tuple[str, ...]
    blames: str
    needs: str = ""

    @property
    def name(self) -> str:
        """Return a name for the pair in records: the program, and the flaw where it has several."""
        return f"{self.program}-{self.flaw}" if self.program == "train" else self.program


PLANTED = (
    Planted("train", "loader", ("host-data-loading",), "worker"),
    Planted("train", "log", ("host-logging",), "log_metrics"),
    Planted("text_in_step", "words", ("host-side-work",), "prepare"),
    Planted("garbage", "garbage", ("host-garbage-collection",), "gc.collect"),
    Planted("lock", "lock", ("host-lock",), "add"),
    Planted("slow_files", "files", ("host-fetch-work", "host-data-loading"), "open_slowly"),
    Planted("many_threads", "threads", ("host-threads",), "threads"),
    Planted("checkpoint_in_step", "checkpoint", ("host-logging",), "keep_state"),
    Planted("json_log", "json", ("host-logging",), "report"),
    Planted("pandas_collate", "pandas", ("host-fetch-work", "host-data-loading"), "merge_rows", needs="pandas"),
)


class Measured(TypedDict):
    """Mean ns of a step in runs with the flaw and without, in turns, and what was said in recordings of runs with it."""

    slow_ns: list[int]
    fixed_ns: list[int]
    predicted: list[Predicted | None]


def load_measured() -> dict[str, Measured]:
    """Return what was measured last, by name of the pair."""
    found: dict[str, Measured] = json.loads(MEASURED.read_text("utf-8"))
    return found


def run_program(planted: Planted, *, is_fixed: bool, steps: int) -> int:
    """Run the program and return the mean time of its steps, ns."""
    command = [sys.executable, f"{planted.program}.py", "--steps", str(steps)]
    command += ["--fix", planted.flaw] if is_fixed else []
    run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True, timeout=300)
    return round(float(run.stdout.split("mean ")[1].split()[0]) * 1e6)


def record_program(program: str, output: Path, steps: int = 80) -> Path:
    """Record the program as a user does; return the database."""
    command = [sys.executable, "-m", "traceq", "record", "--no-report", "-o", str(output), "--", sys.executable]
    command += [f"{program}.py", "--steps", str(steps)]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[2])}
    run = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if run.returncode:
        raise RuntimeError(f"{program}: {run.stderr[-2000:]}")
    (database,) = output.glob("*.duckdb")
    return database


def find_named(planted: Planted, findings: list[Finding]) -> Finding | None:
    """Return the first finding by one of the rules that may name the flaw whose text blames what is to blame."""
    for finding in findings:
        if finding.rule in planted.rules and planted.blames in f"{finding.title} {finding.fix} {finding.deed}":
            return finding
    return None
