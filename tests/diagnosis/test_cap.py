"""Savings are capped: in order, within what there is, and without a jump."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.diagnosis.cap import cap_saving

ns = st.floats(-1e12, 1e12)
most = st.floats(0, 1e12)


@given(ns, ns, ns, most)
def test_savings_are_in_order_and_within_what_there_is(low, likely, high, most):
    found = cap_saving(low, likely, high, most)
    assert 0 <= found.low <= found.likely <= found.high <= most


@given(ns, ns, ns, most)
def test_a_cap_changes_nothing_that_it_has_capped(low, likely, high, most):
    once = cap_saving(low, likely, high, most)
    assert cap_saving(*once, most) == once


@given(ns, ns, ns, most, st.floats(1, 1.01))
def test_a_little_more_of_everything_is_as_much_more_to_win(low, likely, high, most, more):
    before, after = cap_saving(low, likely, high, most), cap_saving(low * more, likely * more, high * more, most * more)
    assert after == pytest.approx(tuple(each * more for each in before))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((1, 2, 3, 10), (1, 2, 3)),
        ((1, 5, 3, 10), (1, 3, 3)),
        ((4, 2, 3, 10), (2, 2, 3)),
        ((-1, 2, 3, 10), (0, 2, 3)),
        ((5, 8, 12, 7), (5, 7, 7)),
    ],
)
def test_of_two_bounds_the_lower_one_counts(given, found):
    assert cap_saving(*given) == found
