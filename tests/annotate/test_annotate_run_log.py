"""The log of a whole run that annotate writes: what the reader makes of it, and that nothing breaks a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from traceq import annotate
from traceq.annotate import to_run_log
from traceq.importers.training_logs import read_training_log


@pytest.fixture
def log(tmp_path, monkeypatch):
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "run.jsonl"
    annotate.run_log(None)


def test_steps_phases_and_events_are_lines_that_the_reader_knows(log, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "8")
    annotate.run_log(log)
    for number, _ in enumerate(annotate.loader([1, 2]), 5):
        with annotate.step(number, tokens=64, loss=2.5):
            pass
    with annotate.run_phase("checkpoint", step=6):
        pass
    annotate.run_event("failure", detail='loss "NaN"')
    found = read_training_log(log)
    assert (found.format, found.clock, found.gpus, found.rank, found.left_out) == ("traceq_run", "utc", 8, 0, 0)
    values = [
        (value.step, value.quantity, value.value) for value in found.values if value.quantity in ("tokens", "loss")
    ]
    assert values == [(5, "tokens", 64.0), (5, "loss", 2.5), (6, "tokens", 64.0), (6, "loss", 2.5)]
    events = [(event.mark, event.phase, event.step, event.detail) for event in found.events if event.phase != "data"]
    assert events == [
        ("begin", "start_up", None, None),
        ("begin", "checkpoint", 6, None),
        ("end", "checkpoint", 6, None),
        ("moment", "failure", None, 'loss "NaN"'),
    ]
    assert {event.step for event in found.events if event.phase == "data"} == {5, 6}
    times = [json.loads(line)["at"] for line in log.read_text().splitlines()]
    assert all(before <= after for before, after in pairwise(times))


def test_decorators_write_lines_too(log):
    annotate.run_log(log)

    @annotate.step()
    def train():
        return 1

    @annotate.run_phase("evaluation")
    def evaluate():
        return 2

    assert train() + evaluate() == 3
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(record.get("phase"), record.get("mark")) for record in records[-2:]] == [
        ("evaluation", "begin"),
        ("evaluation", "end"),
    ]
    assert records[1]["dur"] > 0


def test_without_a_log_nothing_is_written(log):
    with annotate.step(1), annotate.run_phase("data"):
        annotate.run_event("failure")
    assert not log.exists()


def test_wrong_phases_and_steps_are_errors_also_without_a_log():
    with pytest.raises(ValueError, match="'lunch' is no phase of a run: choose from start_up, compile"):
        annotate.run_event("lunch")
    with pytest.raises(TypeError, match="the number of a step is an int, not str"):
        annotate.run_phase("data", step="7")


def test_a_disk_that_is_full_does_not_end_the_program(log):
    annotate.run_log(log)
    os.close(to_run_log._state.file)
    with pytest.warns(RuntimeWarning, match="the run log ends here"):
        annotate.run_event("failure")
    annotate.run_event("failure")
    to_run_log._state.file = None


_PROGRAM = """
import os
from traceq import annotate
for number in range(300):
    with annotate.step(number, tokens=1):
        annotate.run_event("compile", detail="x" * 60)
"""


def test_lines_of_several_processes_do_not_mix(log):
    environment = {key: value for key, value in os.environ.items() if key != "TRACEQ_ANNOTATE"}
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            env=environment | {"RANK": str(rank), "WORLD_SIZE": "4", "TRACEQ_RUN_LOG": str(log)},
        )
        for rank in range(4)
    ]
    assert [program.wait(60) for program in programs] == [0] * 4
    found = read_training_log(log)
    assert found.left_out == 0
    assert [value.step for value in found.values if value.quantity == "step_time"] == list(range(300))
    assert sum(event.phase == "compile" for event in found.events) == 300  # of rank 0
    assert found.lines == 4 * 301 + 300


def test_a_file_for_each_rank_and_a_folder_that_is_missing(log, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    annotate.run_log(log.with_name("run{rank}.jsonl"))
    with annotate.step(1):
        annotate.run_event("failure")
    records = [json.loads(line) for line in log.with_name("run3.jsonl").read_text().splitlines()]
    # steps are those of rank 0
    assert [(record["phase"], record["rank"]) for record in records] == [("start_up", 3), ("failure", 3)]
    with pytest.raises(FileNotFoundError):
        annotate.run_log(log.parent / "missing" / "run.jsonl")
