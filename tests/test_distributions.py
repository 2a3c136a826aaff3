from __future__ import annotations

import pytest

from traceq.common.distributions import chi_squared_quantile, chi_squared_share, student_p, student_quantile


# As printed in tables of the distribution.
@pytest.mark.parametrize(
    ("freedom", "five", "one"),
    [
        (1, 12.706, 63.657),
        (2, 4.303, 9.925),
        (3, 3.182, 5.841),
        (4, 2.776, 4.604),
        (9, 2.262, 3.250),
        (30, 2.042, 2.750),
    ],
)
def test_quantiles_are_those_of_the_tables(freedom, five, one):
    assert student_quantile(0.05, freedom) == pytest.approx(five, abs=6e-4)
    assert student_quantile(0.01, freedom) == pytest.approx(one, abs=6e-4)
    assert student_p(five, freedom) == pytest.approx(0.05, abs=1e-4)


def test_nothing_is_certain_and_everything_is_possible():
    assert student_p(0, 5) == 1
    assert student_p(1e9, 3) == pytest.approx(0, abs=1e-12)
    assert student_p(-2, 7) == student_p(2, 7)


# As printed in tables of chi squared (Abramowitz and Stegun, table 26.8).
@pytest.mark.parametrize(
    ("freedom", "low", "high"),
    [
        (1, 0.000982069, 5.02389),
        (2, 0.0506356, 7.37776),
        (3, 0.215795, 9.34840),
        (5, 0.831211, 12.8325),
        (10, 3.24697, 20.4831),
        (30, 16.7908, 46.9792),
        (100, 74.2219, 129.561),
    ],
)
def test_quantiles_of_chi_squared_are_those_of_the_tables(freedom, low, high):
    assert chi_squared_quantile(0.025, freedom) == pytest.approx(low, rel=1e-5)
    assert chi_squared_quantile(0.975, freedom) == pytest.approx(high, rel=1e-5)
    assert chi_squared_share(high, freedom) == pytest.approx(0.975, abs=1e-6)


def test_chi_squared_is_above_0_and_far_below_infinity():
    assert chi_squared_share(0, 3) == 0
    assert chi_squared_share(500, 400) == pytest.approx(0.99954, abs=1e-4)
    assert chi_squared_quantile(0.5, 2_000) == pytest.approx(2_000, rel=1e-3)


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [(0.02, 4, 3.747), (0.02, 30, 2.457), (0.002, 10, 4.144), (0.001, 20, 3.850), (0.001, 4, 8.610)],
)
def test_quantiles_of_small_levels_are_those_of_the_tables(level, freedom, expected):
    assert student_quantile(level, freedom) == pytest.approx(expected, abs=6e-4)
