"""How often a verdict is wrong, on steps that are made up: of 30, with 2 % noise, at the default level."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from handmade_runs import MS, noisy, run

from traceq.runs.compare.compare import compare
from traceq.runs.compare.known_noise import KnownNoise

PAIRS = 100
USUAL = 100 * MS
NONE = KnownNoise(0)


pytestmark = pytest.mark.usefixtures("fewer_draws")


def verdicts(change, noise=0.0, known=NONE):
    """Of pairs whose runs differ by `noise` (standard deviation) beside the change."""
    random = np.random.default_rng(1)
    middles = USUAL * (1 + noise * random.standard_normal((PAIRS, 2)))
    return Counter(
        compare(
            [run(*noisy(round(base), seed=seed), name="base")],
            [run(*noisy(round(new * (1 + change)), seed=PAIRS + seed), name="new")],
            noise=known,
        ).verdict
        for seed, (base, new) in enumerate(middles)
    )


def test_steps_of_one_program_are_called_different_in_at_most_5_of_100():
    found = verdicts(0)
    assert found["regression"] + found["improvement"] <= 5, found
    assert found["no change"] >= 90, found


def test_a_change_of_3_percent_is_found_in_at_least_90_of_100():
    assert verdicts(0.03)["regression"] >= 90


@pytest.mark.slow
def test_runs_that_differ_by_what_is_assumed_are_called_different_in_at_most_5_of_100():
    """The steps alone would be sure of one in seven."""
    found = verdicts(0, noise=0.005, known=None)
    assert found["regression"] + found["improvement"] <= 5, found


@pytest.mark.slow
def test_a_change_of_5_percent_is_found_in_at_least_90_of_100_single_runs():
    assert verdicts(0.05, noise=0.005, known=None)["regression"] >= 90


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "most"), [(2, 15), (3, 5)])
def test_runs_that_differ_by_four_times_what_is_assumed_are_heard(runs, most):
    """Of two a side the assumption still counts, of three it does not."""
    random = np.random.default_rng(2)
    wrong = 0
    for pair in range(PAIRS):
        middles = USUAL * (1 + 0.02 * random.standard_normal((2, runs)))
        sides = [
            [
                run(*noisy(round(middle), 12, 0.002, f"{pair} {side} {number}"), name=f"{side}{number}")
                for number, middle in enumerate(line)
            ]
            for side, line in enumerate(middles)
        ]
        wrong += compare(*sides).verdict in ("regression", "improvement")
    assert wrong <= most
