"""Samples of the batches that steps fetch: short ones count as what they are, unknown ones not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, sys, torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, TensorDataset
from traceq.capture.knobs import registry
from traceq.capture.knobs.knob import KnobHooks
from traceq.capture.run_trial import TrialWork

if "ablated" in sys.argv:
    registry.apply(torch, {"ablate": "data"}, KnobHooks())
work = TrialWork()
work.watch(torch)

class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))

class Known(Stream):
    def __len__(self):
        return 10

data = TensorDataset(torch.ones(10, 1))
found = {}

def count(name, loader, epochs=2):
    work.begin()
    steps = sum(len(list(loader)) for _ in range(epochs))
    found[name] = [steps, work.per_step(1).get("samples")]

count("whole", DataLoader(data, 5))
count("short", DataLoader(data, 9))
count("dropped", DataLoader(data, 9, drop_last=True))
count("workers", DataLoader(data, 4, num_workers=2, persistent_workers=True))
count("sampler", DataLoader(data, 4, sampler=range(6)))
count("own", DataLoader(data, batch_sampler=[[1, 2, 3], [4]]))
if "ablated" in sys.argv:  # an epoch of a stream has no end then
    print(json.dumps(found))
    sys.exit()
count("alone", DataLoader(data, batch_size=None))
count("stream", DataLoader(Stream(), 4))
count("stream dropped", DataLoader(Stream(), 4, drop_last=True))
count("stream known", DataLoader(Known(), 4))
work.begin()
list(DataLoader(data, 5)), list(DataLoader(Stream(), 4))
found["both"] = work.per_step(1)
print(json.dumps(found))
"""


def count_runs(*arguments):
    pytest.importorskip("torch")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found():
    return count_runs()


@pytest.mark.parametrize(
    ("loader", "steps", "samples"),
    [
        ("whole", 4, 20),
        ("short", 4, 20),
        ("dropped", 2, 18),
        ("workers", 6, 20),
        ("sampler", 4, 12),
        ("own", 4, 8),
        ("alone", 20, None),
        ("stream", 6, None),
        ("stream dropped", 4, 16),
        ("stream known", 6, 20),
    ],
)
def test_samples_of_two_epochs(found, loader, steps, samples):
    assert found[loader] == [steps, samples]


def test_where_one_loader_is_unknown_all_is(found):
    assert found["both"] == {}


@pytest.mark.slow
def test_the_first_batch_given_again_counts_as_what_it_is():
    ablated = count_runs("ablated")
    assert (ablated["short"], ablated["workers"], ablated["own"]) == ([4, 36], [6, 24], [4, 12])
