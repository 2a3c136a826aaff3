"""How far the rounds of a unit lie apart."""

from __future__ import annotations

import pytest

from traceq.analysis.steps.level import Level
from traceq.analysis.steps.step_mark import Mark
from traceq.analysis.steps.unit import _period


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
    marks = [Mark("a", None, start, start + 100) for start in starts]
    assert _period(Level("recurrence", "a", marks, "")) == period
