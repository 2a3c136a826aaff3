from __future__ import annotations

import pytest

from traceq.app import experiment as app
from traceq.runs.trials.experiment import TrialLimits


@pytest.fixture
def given(monkeypatch):
    """What the command hands on."""
    found = []

    def run(*arguments):
        found.extend(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "experiment", run)
    return found


def test_options_become_a_plan(traceq, given, tmp_path):
    words = "--vary n=0,2 --vary b=32..128x2 --env LEVEL=a --try F1,all --ablate data,logging --ablate data --factorial --steps 9"
    limits = "--goal latency --latency-budget 50ms --gpu-memory 1GiB --budget 2min --time-limit 5s --repeats 3"
    outcome = traceq(
        "experiment", *words.split(), *limits.split(), "-o", tmp_path, "--", "python", "t.py", "--n", "{n}"
    )
    assert outcome.exit_code == 130
    plan, directory, running = given
    assert plan.command == ("python", "t.py", "--n", "{n}")
    assert plan.vary == {"n": ("0", "2"), "b": ("32", "64", "128")}
    assert (plan.env, plan.tries, plan.ablate) == ({"LEVEL": ("a",)}, ("F1", "all"), ("data", "logging"))
    assert (plan.factorial, plan.steps, plan.warmup, directory) == (True, 9, 5, tmp_path)
    assert (running.repeats, running.time_limit, running.budget, running.goal) == (3, 5.0, 120.0, "latency")
    assert running.limits == TrialLimits(50_000_000, "p95", 1 << 30, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--vary n", "NAME=VALUES"),
        ("--vary n=1..4 -- x", "32..256x2"),
        ("--vary n=1 --vary n=2 -- x", "n is given twice"),
        ("--ablate all -- x", "the choices are data, optimizer, communication, logging"),
        ("--time-limit 5 -- x", "not a duration"),
        ("--vary num_workers=1", "No command to run"),
        ("-- python t.py", "Nothing to try"),
        ("--vary num_worker=1 -- python t.py", "Did you mean num_workers?"),
    ],
)
def test_wrong_use_says_what_is_right(traceq, words, message, tmp_path):
    outcome = traceq("experiment", "-o", tmp_path, *words.split())
    assert (outcome.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert message in outcome.output


def test_knobs_are_listed(traceq):
    outcome = traceq("experiment", "--knobs", env={"COLUMNS": "100"})
    assert outcome.exit_code == 0
    assert "\nnum_workers          a number, 0 for none " in outcome.output
    assert all(len(line) <= 100 for line in outcome.output.splitlines())
