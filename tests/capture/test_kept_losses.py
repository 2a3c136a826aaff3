"""The losses of a program's first steps, kept without editing it, in one process with PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from traceq.capture.losses import LossWatch

PROGRAM = """
import json, random, numpy as np, torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.checkpoint import checkpoint
from traceq.capture.knobs.knob import KnobHooks
from traceq.capture.losses import MOST_STEPS, LossWatch
torch.set_num_threads(1)
found, originals = {}, (torch.autograd.backward, torch.amp.GradScaler.scale)
data = TensorDataset(torch.arange(160.0).reshape(40, 4) / 100, torch.arange(40))

def train(name, step, steps=3, outputs=False):
    torch.manual_seed(0)
    watch, hooks = LossWatch(), KnobHooks()
    stop = watch.watch_steps(torch)
    if outputs:
        watch.watch_outputs(hooks)
    model = torch.nn.Linear(4, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    batches = iter(DataLoader(data, 4))
    for number in range(steps):
        inputs, _ = next(batches)
        step(model, inputs, optimizer)
        optimizer.zero_grad()
        watch.step_ended()
        while hooks.at_first_step:
            hooks.at_first_step.pop()()
    found[name] = watch.describe_steps()
    stop()
    found[name + " is over"] = (torch.autograd.backward, torch.amp.GradScaler.scale) == originals

def plain(model, inputs, optimizer):
    loss = model(inputs).mean()
    loss.backward()
    with torch.no_grad():
        loss.mul_(0)
    optimizer.step()

def twice(model, inputs, optimizer):
    for part in inputs.chunk(2):
        torch.autograd.backward([model(part).mean() / 2])
    optimizer.step()

scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
def scaled(model, inputs, optimizer):
    scaler.scale(model(inputs).mean()).backward()
    scaler.step(optimizer)
    scaler.update()

def checkpointed(model, inputs, optimizer):
    inputs.requires_grad_()
    checkpoint(model, inputs, use_reentrant=True).mean().backward()
    optimizer.step()

def infinite(model, inputs, optimizer):
    (model(inputs).mean() * float("inf")).backward()

def no_loss(model, inputs, optimizer):
    model(inputs).backward(torch.ones(4, 1))

for step in (plain, twice, scaled, checkpointed, infinite, no_loss):
    train(step.__name__, step)
train("long", plain, steps=10)
train("random", lambda *each: (torch.rand(1), plain(*each)))
random.seed()
for name in ("python", "python again"):
    train(name, lambda *each: (random.random(), plain(*each)))
train("numpy", lambda *each: (np.random.rand(), plain(*each)))
train("outputs", plain, outputs=True)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("losses") / "program.py"
    path.write_text(PROGRAM)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(root)}
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


# Of four numbers a row, 0 to 15 in hundredths in the first batch: their mean times four.
LOSSES = [0.3, 0.94, 1.58]


@pytest.mark.parametrize("name", ["plain", "scaled", "checkpointed"])
def test_the_loss_of_each_step_is_kept_as_it_was_on_backward(found, name):
    assert [len(step) for step in found[name]["losses"]] == [1, 1, 1]
    assert [step[0] for step in found[name]["losses"]] == pytest.approx(LOSSES)
    assert (found[name]["seed"], found[name]["type"]) == (0, "float32")


def test_each_backward_pass_of_a_step_has_its_loss(found):
    assert found["twice"]["losses"][0] == pytest.approx([0.07, 0.23])
    assert [len(step) for step in found["twice"]["losses"]] == [2, 2, 2]


def test_numbers_that_are_not_finite_are_none(found):
    assert found["infinite"]["losses"] == [[None]] * 3


def test_a_program_without_a_loss_keeps_none(found):
    assert found["no_loss"] is None


def test_the_watch_ends_after_ten_steps_and_leaves_nothing_behind(found):
    assert len(found["long"]["losses"]) == 10
    assert all(value for name, value in found.items() if name.endswith("is over"))


def test_batches_and_random_numbers_are_known_by_hashes(found):
    batches = found["plain"]["batches"]
    assert batches == found["twice"]["batches"]
    shapes, whole, other = (set(part) for part in zip(*(each.split(".") for (each,) in batches), strict=True))
    assert (len(shapes), len(whole), len(other)) == (1, 3, 3)
    assert len(set(found["plain"]["random"])) == 1
    assert len(set(found["random"]["random"])) == 3


def test_random_numbers_of_python_and_numpy_count_where_steps_draw_from_them(found):
    assert len(set(found["numpy"]["random"])) == 3
    assert not set(found["python"]["random"]) & set(found["python again"]["random"])
    assert found["plain"]["random"] == found["twice"]["random"], "an unseeded generator that no step uses says nothing"


def test_the_hash_of_a_batch_does_not_depend_on_its_strides():
    torch = pytest.importorskip("torch")
    watch = LossWatch()
    watch._torch = torch
    plain = torch.arange(2 * 3 * 50 * 40, dtype=torch.float32).reshape(2, 3, 50, 40)
    other = plain.contiguous(memory_format=torch.channels_last)
    assert not other.is_contiguous()
    changed = other.clone()
    changed[0, 0, 0, 0] = -1
    assert watch._hash_batch([other]) == watch._hash_batch([plain])
    assert watch._hash_batch([changed]) != watch._hash_batch([plain])
    assert watch._hash_batch([torch.tensor(3)]) != watch._hash_batch([torch.tensor(4)])


def test_norms_of_outputs_are_kept_from_the_second_step_on(found):
    assert [len(step) for step in found["outputs"]["outputs"]] == [0, 1, 1]
    assert not any(found["plain"]["outputs"])
    rows = [0.70, 0.86, 1.02, 1.18]
    assert found["outputs"]["outputs"][1] == pytest.approx([sum(row * row for row in rows) ** 0.5])
