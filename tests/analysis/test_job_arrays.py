"""Sorting and grouping, against NumPy's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analysis.job.arrays import (
    close_gaps,
    find_distinct,
    group_means,
    group_medians,
    number_combinations,
    stable_order,
)

numbers = st.lists(st.integers(0, 2000), max_size=30).map(lambda each: np.array(each, np.int64))


@settings(max_examples=100, deadline=None)
@given(numbers)
def test_orders_and_numbers_are_those_of_numpy(keys):
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    assert find_distinct(keys).tolist() == sorted(set(keys.tolist()))
    assert close_gaps(keys).tolist() == np.unique(keys, return_inverse=True)[1].tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3), st.integers(0, 50)), min_size=1, max_size=30))
def test_medians_and_means_of_groups(rows):
    one, other, values = (np.array(column) for column in zip(*rows, strict=True))
    group = number_combinations(one, other)
    of = {key: values[(one == key[0]) & (other == key[1])] for key in {(row[0], row[1]) for row in rows}}
    assert len(of) == group.max() + 1
    assert group_medians(group, values.astype(float))[group].tolist() == [np.median(of[row[:2]]) for row in rows]
    assert np.allclose(group_means(group, values.astype(float)), [of[row[:2]].mean() for row in rows])
