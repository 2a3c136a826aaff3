"""What the tables say of a recorded run is what the program itself measured, within 2 %."""

from __future__ import annotations

import json
import subprocess
import sys

import lazy_import
import pytest

from traceq.database.connect import connect

lazy_import.module("torch")

PROGRAM = """
import json, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
from traceq import annotate

torch.set_num_threads(1)

class Samples(Dataset):
    def __len__(self):
        return 8 * 20

    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.ones(16), index % 4

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
begins, fetches, forwards = [], [], []
fetched = time.perf_counter_ns()
for number, (inputs, classes) in enumerate(annotate.loader(DataLoader(Samples(), 8))):
    begins.append(time.perf_counter_ns())
    fetches.append(begins[-1] - fetched)
    with annotate.step(number, samples=8):
        forward = time.perf_counter_ns()
        with annotate.phase("forward"):
            loss = torch.nn.functional.cross_entropy(model(inputs), classes)
            time.sleep(0.02)
        forwards.append(time.perf_counter_ns() - forward)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    fetched = time.perf_counter_ns()
json.dump({"begins": begins, "fetches": fetches, "forwards": forwards}, open(sys.argv[1], "w"))
"""


ATTEMPTS = 3


def record_run(folder):
    """The database of a recorded run, and what the program measured."""
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    program = [sys.executable, str(folder / "train.py"), str(folder / "measured.json")]
    options = ["--no-report", "--skip", "3", "--steps", "8", "-o", str(folder / "out")]
    subprocess.run(
        [sys.executable, "-m", "traceq", "record", *options, "--", *program],
        check=True,
        capture_output=True,
        timeout=120,
    )
    (database,) = (folder / "out").glob("*.duckdb")
    return database, json.loads((folder / "measured.json").read_text())


def whole_steps(connection):
    """(step, number in the program) of the steps but the first and last: around those the profiler starts, and writes."""
    names = connection.execute("select step, name from step order by step").fetchall()
    steps = [(step, int(name.removeprefix("traceq.step#"))) for step, name in names][1:-1]
    assert len(steps) >= 5
    return steps


def compare_runs(database, measured):
    """What -> (in the tables, by the program), over the whole steps; ns, and samples per second."""
    with connect(database) as connection:
        steps = whole_steps(connection)
        numbers = [number for _, number in steps]
        inside = f"step between {steps[0][0]} and {steps[-1][0]}"
        phase = f"select sum(dur) from step_phase where {inside} and phase = ?"
        (length,) = connection.execute(f"select sum(dur) from step where {inside}").fetchone()
        (data,) = connection.execute(phase, ["data"]).fetchone()
        (forward,) = connection.execute(phase, ["forward"]).fetchone()
        payload = f"select sum(value) from step_payload where key = 'samples' and {inside}"
        (samples,) = connection.execute(payload).fetchone()
    elapsed = measured["begins"][numbers[-1] + 1] - measured["begins"][numbers[0]]
    return {
        "steps": (length, elapsed),
        # a fetch between two steps belongs to the earlier one
        "data": (data, sum(measured["fetches"][number + 1] for number in numbers)),
        "forward": (forward, sum(measured["forwards"][number] for number in numbers)),
        "samples per second": (samples / length * 1e9, 8 * len(numbers) / elapsed * 1e9),
    }


@pytest.mark.slow
def test_the_tables_say_what_the_program_measured_within_two_per_cent(tmp_path):
    """On a busy machine a process can be stopped between a mark and the clock beside it: one good run of three is asked for."""
    for attempt in range(ATTEMPTS):
        found = compare_runs(*record_run(tmp_path / str(attempt)))
        if all(ours == pytest.approx(theirs, rel=0.02) for ours, theirs in found.values()):
            return
    pytest.fail(f"the tables and the program differ: {found}")
