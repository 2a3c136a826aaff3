"""How often a verdict is wrong, on steps that are made up: of 30, with 2 % noise, at the default level."""

from __future__ import annotations

from collections import Counter

import pytest
from made_runs import MS, noisy, run

from traceq.runs.compare.compare import compare

PAIRS = 100
USUAL = 100 * MS


pytestmark = pytest.mark.usefixtures("fewer_draws")


def verdicts(change):
    return Counter(
        compare(
            [run(*noisy(USUAL, seed=seed), name="base")],
            [run(*noisy(round(USUAL * (1 + change)), seed=PAIRS + seed), name="new")],
        ).verdict
        for seed in range(PAIRS)
    )


def test_runs_of_one_program_are_called_different_in_at_most_5_of_100():
    found = verdicts(0)
    assert found["regression"] + found["improvement"] <= 5, found
    assert found["no change"] >= 90, found


def test_a_change_of_3_percent_is_found_in_at_least_90_of_100():
    assert verdicts(0.03)["regression"] >= 90
