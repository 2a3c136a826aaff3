from __future__ import annotations

import pytest

from traceq.runs.experiment.student import beyond, quantile


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
    assert quantile(0.05, freedom) == pytest.approx(five, abs=6e-4)
    assert quantile(0.01, freedom) == pytest.approx(one, abs=6e-4)
    assert beyond(five, freedom) == pytest.approx(0.05, abs=1e-4)


def test_nothing_is_certain_and_everything_is_possible():
    assert beyond(0, 5) == 1
    assert beyond(1e9, 3) == pytest.approx(0, abs=1e-12)
    assert beyond(-2, 7) == beyond(2, 7)
