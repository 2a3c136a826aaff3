"""The example of docs/, recorded as its page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import lazy_import
import pytest

from traceq.database.connect import connect

lazy_import.module("torch")

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "train.py"


def test_the_example_is_annotated_in_less_than_ten_lines():
    assert 0 < EXAMPLE.read_text().count("# traceq\n") < 10


@pytest.mark.slow
def test_recorded_the_example_shows_steps_phases_fetches_and_throughput(tmp_path):
    command = [sys.executable, "-m", "traceq", "record", "--steps", "4", "-o", str(tmp_path)]
    program = [sys.executable, str(EXAMPLE), "--steps", "14", "--batch", "4"]
    done = subprocess.run([*command, "--", *program], check=True, capture_output=True, text=True, timeout=120)
    measured, report = done.stdout.split("\n", 1)
    assert json.loads(measured)["samples_per_s"] > 0
    assert "3 steps like traceq.step" in report
    full = subprocess.run(
        [sys.executable, "-m", "traceq", "report", str(tmp_path / "train.duckdb"), "--full"],
        check=True, capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    assert "Phases" in full
    assert "Throughput: samples" in full
    with connect(tmp_path / "train.duckdb") as connection:
        steps = connection.execute("select source, count(*) from step group by source").fetchall()
        phases = connection.execute("select distinct phase from step_phase order by phase").fetchall()
        samples = connection.execute("select distinct value from step_payload where key = 'samples'").fetchall()
    assert steps == [("mark", 4)]
    assert [phase for (phase,) in phases] == ["backward", "data", "forward", "optimizer"]
    assert samples == [(4,)]
