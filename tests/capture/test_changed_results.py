"""What three small trainings compute, with a change of each that no time shows (fixtures/make/experiments/changed_results.py)."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

from traceq.capture import trial
from traceq.runs.losses import compare_losses
from traceq.runs.trials.outcome import trial_of

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "fixtures" / "make" / "experiments" / "changed_results.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found by /proc"),
]


@pytest.fixture
def train(tmp_path, monkeypatch):
    """Runs a program with the change or without, for a few steps; returns its trial."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    numbers = itertools.count()

    def run(name, on=0, seed=1000, values=None, outputs=False):
        launch = trial.TrialLaunch(
            (sys.executable, str(PROGRAM), name, "--on", str(on)),
            values or {},
            {},
            seed=seed,
            warmup=5,
            steps=6,
            least_seconds=0.0,
            profiled=0,
            traces=tmp_path / f"traces{next(numbers)}",
            name="n",
            log=tmp_path / "log",
            time_limit=60.0,
            outputs=outputs,
        )
        found = trial_of(trial.run(launch), name, 0, seed, 11)
        assert (found.outcome, found.reason) == ("ok", None)
        return found

    return run


@pytest.mark.parametrize(
    ("name", "state", "low", "high", "first_step"),
    [
        ("rounding", "slightly changed", 1e-6, 1e-3, 1),
        ("sample", "changed", 5e-3, 0.5, 2),
        ("reduction", "changed", 0.9, 1.0, 1),
    ],
)
def test_a_change_is_seen_and_two_equal_runs_are_the_same(train, name, state, low, high, first_step):
    base, again, new = (train(name).losses, train(name).losses, train(name, on=1).losses)
    equal = compare_losses(base, again)
    assert (equal.state, equal.size, equal.steps) == ("same", 0.0, 10)
    found = compare_losses(base, new, (base, again))
    assert (found.state, found.first_step) == (state, first_step)
    assert low < found.size < high


def test_another_seed_is_no_change(train):
    found = compare_losses(train("rounding").losses, train("rounding", seed=1001).losses)
    assert (found.state, found.size) == ("cannot tell", None)


def test_workers_change_no_result_and_are_waited_for(train):
    base, new = train("sample"), train("sample", values={"num_workers": "2", "prefetch_factor": "2"})
    assert base.own_values["num_workers"] == "0"
    assert (base.cycle, base.warmup) == (1, 5)
    assert new.cycle == 2
    assert new.warmup >= 5
    assert len(new.steps_ns) == 6
    assert compare_losses(base.losses, new.losses, has_other_data=True).state == "same"


def test_outputs_are_compared_where_that_is_asked_for(train):
    base, new = (train("reduction", on=on, outputs=True).losses for on in (0, 1))
    assert [len(step) for step in base.outputs] == [0, *[2] * 9]
    assert compare_losses(base, new).state == "changed"
    assert not any(train("reduction").losses.outputs)
