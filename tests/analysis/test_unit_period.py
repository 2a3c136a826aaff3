"""How far the rounds of a unit lie apart."""

from __future__ import annotations

import pytest

from traceq.analysis.steps.level import StepLevel, StepMark
from traceq.analysis.steps.unit import _median_distance


@pytest.mark.parametrize(
    ("starts", "period"),
    [
        ([0, 10, 20, 35], 10),
        # as they were launched, and not as they ran
        ([35, 0, 20, 10], 10),
        ([7], 100),
        ([], None),
    ],
)
def test_it_is_the_median_distance_in_the_order_of_time(starts, period):
    marks = [StepMark("a", None, start, start + 100) for start in starts]
    assert _median_distance(StepLevel("recurrence", "a", marks, "")) == period
