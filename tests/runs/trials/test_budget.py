"""How much of an experiment fits into a budget of time."""

from __future__ import annotations

import pytest

from traceq.runs.trials.budget import RunCost, count_rounds, count_settings

COST = RunCost(10.0, 5.0)


@pytest.mark.parametrize(
    ("left", "combines", "number"),
    [
        # Three rounds of the baseline and one setting, of which one run is over and one more is for equal runs.
        (64, False, 1),
        (65, False, 1),
        (99, False, 1),
        (100, False, 2),
        (134, False, 2),
        (135, False, 3),
        (10_000, False, 5),
        # Three rounds of the winners together, beside the baseline, and their recording.
        (164, True, 1),
        (165, True, 2),
    ],
)
def test_settings_have_three_rounds_each(left, combines, number):
    assert count_settings(left, COST, 5, 9, combines=combines) == number


def test_fewer_rounds_leave_time_for_more_settings():
    assert count_settings(70, COST, 5, 1, combines=False) == 4
    assert count_settings(0, COST, 5, 9, combines=False) == 1


@pytest.mark.parametrize(
    ("left", "together", "rounds"),
    [
        (0, (0, 0), 1),
        (29, (0, 0), 1),
        (30, (0, 0), 2),
        (60, (0, 0), 3),
        (10_000, (0, 0), 9),
        (124, (20, 5), 2),
        (125, (20, 5), 3),
    ],
)
def test_rounds_fill_the_budget(left, together, rounds):
    assert count_rounds(left, 1, 9, 30.0, *together) == rounds


def test_runs_that_take_no_time_have_all_rounds():
    assert count_rounds(1.0, 1, 9, 0.0, 0.0, 0.0) == 9


def test_time_that_rounds_left_over_is_for_more_of_them():
    assert count_rounds(59, 4, 9, 30.0, 0.0, 0.0) == 5
    assert count_rounds(-10, 4, 9, 30.0, 0.0, 0.0) == 4
