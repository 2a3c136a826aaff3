from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traceq.runs.trials.curve import find_knee, find_optimum, fit, fit_affine, fit_hinge
from traceq.runs.trials.tradeoff import StepCurve

values = st.lists(st.integers(1, 4_096), min_size=3, max_size=7, unique=True).map(sorted)
fixed = st.integers(0, 10**9)
per_unit = st.integers(1, 10**7)


@given(values, fixed, per_unit)
def test_a_line_is_recovered(values, fixed, per_unit):
    curve = fit_affine([(float(value), float(fixed + per_unit * value)) for value in values])
    scale = fixed + per_unit * values[-1]
    assert curve.fixed_ns == pytest.approx(fixed, rel=1e-6, abs=scale * 1e-6)
    assert curve.at(values[-1]) == pytest.approx(scale, rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(1, 4_096), st.integers(1, 10**10)), min_size=3, max_size=7, unique_by=lambda p: p[0])
)
def test_no_curve_has_negative_parts_or_falls(points):
    found = fit(sorted((float(value), float(ns)) for value, ns in points))
    assert min(found.curve.flat_ns, found.curve.fixed_ns, found.curve.per_unit_ns) >= 0
    assert found.left_out_error >= 0
    assert found.curve.at(1) <= found.curve.at(4_096)


@given(values, fixed, per_unit)
def test_the_knee_is_where_power_is_highest_and_inside_the_range(values, fixed, per_unit):
    curve = StepCurve("affine", 0.0, float(fixed), float(per_unit))
    top = find_optimum(curve)
    power = lambda value: value / curve.at(value) ** 2  # noqa: E731
    if top:
        assert power(top) >= max(power(top * 0.9), power(top * 1.1))
    points = [(float(value), PointOf(curve.at(value))) for value in values]
    knee = find_knee(curve, points, [None] * len(points))
    place = "below" if top < values[0] else "beyond" if top > values[-1] else "within"
    assert (knee.place, knee.value is None) in {(place, place != "within"), ("within", False)}
    assert knee.value is None or values[0] <= knee.value <= values[-1]
    assert knee.best_tried in values


class PointOf:
    def __init__(self, typical_ns):
        self.typical_ns = typical_ns


def test_a_flat_part_is_found():
    found = fit([(b, max(10.0, 0.1 * b)) for b in (8.0, 32.0, 64.0, 128.0, 256.0, 512.0)])
    assert (found.curve.shape, found.curve.flat_ns) == ("hinge", pytest.approx(10))
    assert find_optimum(found.curve) == pytest.approx(100)
    assert found.others["affine"] > 0.1


def test_a_line_is_not_taken_for_a_hinge():
    found = fit(
        [(b, 10 + 0.1 * b + noise) for b, noise in ((8.0, 0.1), (32.0, -0.1), (64.0, 0.1), (128.0, -0.2), (256.0, 0.1))]
    )
    assert found.curve.shape == "affine"
    assert 0 < found.left_out_error < 0.05


@pytest.mark.parametrize("points", [[], [(1.0, 5.0)], [(1.0, 5.0), (2.0, 6.0)]])
def test_two_values_are_no_curve(points):
    assert fit(points) is None


def test_steps_that_fall_have_a_flat_curve_and_no_knee():
    found = fit([(1.0, 9.0), (2.0, 8.0), (4.0, 7.0)])
    assert found.curve.per_unit_ns == 0
    assert find_optimum(found.curve) == float("inf")


def test_the_hinge_of_a_line_is_the_line():
    assert fit_hinge([(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)]).shape == "affine"
