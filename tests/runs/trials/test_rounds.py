from __future__ import annotations

from random import Random

import pytest
from handmade_trials import made

from traceq.cli.experiment import experiment
from traceq.runs.trials.paired import judge_differences, mean_of
from traceq.runs.trials.results import ResultTable
from traceq.runs.trials.study_experiment import rounds_needed
from traceq.runs.trials.trial import ROUNDS, STEPS, Trial


def test_the_command_runs_as_many_rounds_and_steps_as_were_found_to_be_enough():
    defaults = {each.name: each.default for each in experiment.params}
    assert (defaults["repeats"], defaults["steps"]) == (ROUNDS, STEPS)


def test_how_many_rounds_show_five_per_cent():
    quiet = needed("baseline : 10 10.02 9.98 10\na=1 : 10 9.98 10.01 10.03")
    noisy = needed("baseline : 10 11 9 10\na=1 : 11 9 10.5 9.5")
    assert quiet <= 3
    assert noisy > 20
    assert needed("baseline : 10\na=1 : 11") is None


def needed(text, *unsure, quantity="step", facts=None):
    """As `rounds_needed`."""
    settings, trials = made(text, **(facts or {}))
    return rounds_needed(ResultTable(tuple(settings), tuple(trials), "steps", 0.02), quantity, unsure)


def test_the_rounds_are_those_of_the_setting_that_cannot_be_told():
    text = "baseline : 10 10.02 9.98 10\na=1 : 10 9.98 10.01 10.03\nb=1 : 10 9.97 10 9.99\nc=1 : 10 12 9 11"
    assert needed(text) < needed(text, "c=1")
    assert needed(text, "a=1") <= 5


def test_the_rounds_are_those_of_what_the_goal_judges():
    """The typical step is quiet, the time of all steps is not: a few are long."""
    random = Random(3)  # noqa: S311
    settings, _ = made("baseline : 10\na=1 : 10")
    trials = [
        Trial(each.name, n, n, "ok", steps_ns=(10_000_000,) * 20 + (40_000_000,) * random.choice([0, 1, 2, 3]))
        for each in settings
        for n in range(9)
    ]
    table = ResultTable(tuple(settings), tuple(trials), "steps", 0.02)
    assert rounds_needed(table, "step") == 2
    assert rounds_needed(table, "throughput", ["a=1"]) > 20


@pytest.mark.parametrize("noise", [0.01, 0.02, 0.03])
def test_at_the_usual_noise_the_default_sees_five_per_cent_and_little_else(noise):
    """Runs of a program differ by 1 to 3 %: docs/experiment.md, "How sure"."""
    import numpy as np

    numbers = np.random.default_rng(7)
    ratios = numbers.normal(0, noise * 2**0.5, (600, ROUNDS))
    verdicts = [
        judge_differences({"it": mean_of(list(each))}, 0.02, more_is_better=False)["it"].verdict for each in ratios
    ]
    longer = [
        judge_differences({"it": mean_of(list(each + 0.0488))}, 0.02, more_is_better=False)["it"].verdict
        for each in ratios
    ]
    assert sum(each in ("better", "worse") for each in verdicts) <= 0.05 * 600
    assert sum(each == "worse" for each in longer) >= 0.8 * 600
