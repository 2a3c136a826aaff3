"""What the tables say of a recorded run is what the program itself measured, within 2 %."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from traceq import store

pytest.importorskip("torch")

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


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The database of the recorded run, and what the program measured."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(PROGRAM)
    program = [sys.executable, str(folder / "train.py"), str(folder / "measured.json")]
    command = [
        sys.executable,
        "-m",
        "traceq",
        "record",
        "--no-report",
        "--skip",
        "3",
        "--steps",
        "8",
        "-o",
        str(folder / "out"),
    ]
    subprocess.run([*command, "--", *program], check=True, capture_output=True, timeout=120)
    (database,) = (folder / "out").glob("*.duckdb")
    with store.connect(database) as connection:
        yield connection, json.loads((folder / "measured.json").read_text())


def whole_steps(connection):
    """(step, number in the program) of the steps but the first and last: around those the profiler starts, and writes."""
    names = connection.execute("select step, name from step order by step").fetchall()
    steps = [(step, int(name.removeprefix("traceq.step#"))) for step, name in names][1:-1]
    assert len(steps) >= 5
    return steps


def in_steps(steps):
    return f"step between {steps[0][0]} and {steps[-1][0]}"


def test_steps_last_as_long_as_the_program_measured(recorded):
    connection, measured = recorded
    steps = whole_steps(connection)
    expected = measured["begins"][steps[-1][1] + 1] - measured["begins"][steps[0][1]]
    found = connection.execute(f"select sum(dur) from step where {in_steps(steps)}").fetchone()[0]
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("phase", "key", "offset"), [("data", "fetches", 1), ("forward", "forwards", 0)])
def test_phases_last_as_long_as_the_program_measured(recorded, phase, key, offset):
    connection, measured = recorded
    steps = whole_steps(connection)
    # a fetch between two steps belongs to the earlier one
    expected = sum(measured[key][number + offset] for _, number in steps)
    query = f"select sum(dur) from step_phase where phase = ? and {in_steps(steps)}"
    assert connection.execute(query, [phase]).fetchone()[0] == pytest.approx(expected, rel=0.02)


def test_throughput_is_what_the_program_measured(recorded):
    connection, measured = recorded
    steps = whole_steps(connection)
    elapsed = measured["begins"][steps[-1][1] + 1] - measured["begins"][steps[0][1]]
    query = f"""
        select sum(value) / sum(dur) from step_payload join step using (trace_id, step)
        where key = 'samples' and {in_steps(steps)}
    """
    assert connection.execute(query).fetchone()[0] == pytest.approx(8 * len(steps) / elapsed, rel=0.02)
