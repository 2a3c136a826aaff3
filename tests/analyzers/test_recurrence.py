"""Steps of traces that nothing marks: sequences of launches that recur."""

from __future__ import annotations

import numpy as np
import pytest
from builder import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.analyzers.recurrence import recurring_sequence

STEP = "ABABABABCCDE"


def numbers(letters):
    return np.array([ord(letter) - ord("A") for letter in letters], np.int64)


@pytest.mark.parametrize(("launches", "length"), [(STEP * 4, 12), (STEP * 9, 12), ("ABABCCDE" * 4, 8)])
def test_whole_steps_are_found(launches, length):
    found = recurring_sequence(numbers(launches))
    assert found is not None
    assert found.length == length
    assert len(found.starts) >= len(launches) // length - 1
    assert set(np.diff(found.starts)) == {length}


@pytest.mark.parametrize(
    "launches",
    ["", "A", "ABC" * 50, STEP * 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "X" * 10 + STEP],
    ids=["nothing", "one", "loop inside an operator", "too few whole ones", "no repetition", "one step"],
)
def test_what_does_not_recur_is_no_step(launches):
    assert recurring_sequence(numbers(launches)) is None


def test_layers_between_other_work_are_no_steps():
    assert recurring_sequence(numbers("XYZ" + "ABCDEFGH" * 4 + "UVW")) is None


@settings(max_examples=100, deadline=None)
@given(step=st.lists(st.integers(0, 5), min_size=8, max_size=30), times=st.integers(4, 9), cut=st.integers(0, 7))
def test_any_step_with_a_kernel_of_its_own_is_found_whole(step, times, cut):
    launches = [6, *step] * times
    found = recurring_sequence(np.array(launches[cut:], np.int64))
    assert found is not None
    assert set(np.diff(found.starts)) == {len(step) + 1}
    assert found.length == len(step) + 1


def test_unmarked_launches_become_steps(tmp_path):
    trace = TraceBuilder()
    for number in range(5 * 10):
        trace.kernel(f"kernel {number % 10}", 1000 * number + 500, 300, launched=(1000 * number, 100))
    assert trace.build(tmp_path).text("select step, name, source, ts, dur from step where step < 2 order by step") == (
        "0 sequence of 10 launches recurrence 0 10000\n1 sequence of 10 launches recurrence 10000 10000"
    )
