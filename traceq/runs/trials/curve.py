"""The cost of a step as a function of the work in it, and its knee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt

from traceq.common.distributions import LEVEL
from traceq.runs.statistics import Floats
from traceq.runs.trials.tradeoff import CurveFit, Knee, Place, Point, Shape, StepCurve

FEWEST = 3
# A curve that misses a measured step by more, as a share of it, says nothing about the others.
MOST_ERROR = 0.1
# A hinge has a parameter more: with fewer values it goes through all of them, or misses the value it is tested on.
_FEWEST_FOR_HINGE = 4
# The curve of fewer parameters is kept unless the other is clearly better where it was not fitted.
_CLEARLY = 0.75

# Squares of relative errors that are no errors.
_ROUNDING = 1e-18

Points = Sequence[tuple[float, float]]


def fit(points: Points) -> CurveFit | None:
    """Fit a curve to at least three points (value, ns), sorted by value, all above 0; None with fewer.

    The shape (affine or hinge) is the one that better predicts values that were left out of the fit.
    """
    if len(points) < FEWEST:
        return None
    shapes: dict[Shape, Callable[[Points], StepCurve]] = {"affine": fit_affine}
    if len(points) >= _FEWEST_FOR_HINGE:
        shapes["hinge"] = fit_hinge
    errors = {shape: _validation_error(points, fitted) for shape, fitted in shapes.items()}
    chosen: Shape = "hinge" if errors.get("hinge", inf) < errors["affine"] * _CLEARLY else "affine"
    curve = shapes[chosen](points)
    if curve.shape != chosen:  # of all values none is on a flat part
        chosen = curve.shape
    others = {shape: error for shape, error in errors.items() if shape != chosen}
    return CurveFit(curve, errors[chosen], max(abs(_relative_error(curve, *point)) for point in points), others)


def _validation_error(points: Points, fitted: Callable[[Points], StepCurve]) -> float:
    """Return the root mean square of the relative errors at each value, predicted by the curve through all others."""
    errors = [
        _relative_error(fitted([*points[:place], *points[place + 1 :]]), *point) for place, point in enumerate(points)
    ]
    return sqrt(sum(error**2 for error in errors) / len(errors))


def _relative_error(curve: StepCurve, value: float, ns: float) -> float:
    """Return the error of the curve at a measured step, as a share of it; above 0 where the curve is longer."""
    return (curve.at(value) - ns) / ns


def fit_affine(points: Points) -> StepCurve:
    """Return the line a + b * value, a and b >= 0, with the least squares of relative errors."""
    weights = [1 / ns**2 for _, ns in points]
    whole = sum(weights)
    value = sum(w * b for w, (b, _) in zip(weights, points, strict=True)) / whole
    mean = sum(w * ns for w, (_, ns) in zip(weights, points, strict=True)) / whole
    spread = sum(w * (b - value) ** 2 for w, (b, _) in zip(weights, points, strict=True))
    slope = (
        sum(w * (b - value) * (ns - mean) for w, (b, ns) in zip(weights, points, strict=True)) / spread
        if spread
        else 0.0
    )
    if slope <= 0:
        return StepCurve("affine", 0.0, mean, 0.0)
    fixed = mean - slope * value
    if fixed >= 0:
        return StepCurve("affine", 0.0, fixed, slope)
    through_zero = sum(w * b * ns for w, (b, ns) in zip(weights, points, strict=True))
    return StepCurve(
        "affine", 0.0, 0.0, through_zero / sum(w * b**2 for w, (b, _) in zip(weights, points, strict=True))
    )


def fit_hinge(points: Points) -> StepCurve:
    """Return the curve max(c, a + b * value) with the least squares over all splits into a flat and a linear part.

    Affine if no flat part fits better.
    """
    best = fit_affine(points)
    least = _sum_squares(best, points)
    for split in range(1, len(points)):
        curve = _split(points[:split], points[split:])
        if curve.per_unit_ns <= 0 or curve.at(points[0][0]) > curve.flat_ns:
            continue
        squares = _sum_squares(curve, points)
        if squares < least - _ROUNDING:
            best, least = curve, squares
    return best


def _sum_squares(curve: StepCurve, points: Points) -> float:
    """Return the sum of the squares of the curve's relative errors."""
    return sum(_relative_error(curve, *point) ** 2 for point in points)


def _split(flat: Points, linear: Points) -> StepCurve:
    """Return the hinge whose flat part is fitted to the points `flat`, and whose line is fitted to `linear`."""
    level = fit_affine([(0.0, ns) for _, ns in flat]).fixed_ns
    if len(linear) == 1:
        value, ns = linear[0]
        return StepCurve("hinge", level, 0.0, ns / value)
    rest = fit_affine(linear)
    return StepCurve("hinge", level, rest.fixed_ns, rest.per_unit_ns)


_REFITS = 400
# The sum of what is rounded in a fit; what is as close to an end of the range is the end.
_AT_END = 1e-9


def find_knee(curve: StepCurve, points: Sequence[tuple[float, Point]], resamples: Sequence[Floats | None]) -> Knee:
    """Return the knee of the curve with its interval, and the tried value that comes nearest to it.

    `points` are pairs of value and point, in ascending order. `resamples` are resampled typical steps of each, ns, or
    None.
    """
    low, high = points[0][0], points[-1][0]
    top = find_optimum(curve)
    place = _place_knee(top, low, high)
    tried = max(points, key=lambda each: each[0] / each[1].typical_ns ** 2)[0]
    value = min(max(top, low), high) if place == "within" else None
    return Knee(place, value, _knee_interval(curve, [each for each, _ in points], resamples), tried)


def find_optimum(curve: StepCurve) -> float:
    """Return the value B with the largest B / f(B)^2 for the step f(B) of the curve.

    It is 0 for a curve without a fixed cost or flat part, and infinite for one without a cost per unit of work.
    """
    if not curve.per_unit_ns:
        return inf
    linear = curve.fixed_ns / curve.per_unit_ns
    return max(linear, (curve.flat_ns - curve.fixed_ns) / curve.per_unit_ns) if curve.flat_ns else linear


def _place_knee(top: float, low: float, high: float) -> Place:
    """Return whether the knee is below, within or beyond the tried values `low` to `high`."""
    if top < low * (1 - _AT_END):
        return "below"
    return "beyond" if top > high * (1 + _AT_END) else "within"


def _knee_interval(
    curve: StepCurve, values: Sequence[float], resamples: Sequence[Floats | None]
) -> tuple[float | None, float | None] | None:
    """Return the 95 % interval of the knee, from fits of the same shape to resampled steps; None if resamples are missing.

    An end beyond the tried values is None.
    """
    known = [resampled for resampled in resamples if resampled is not None]
    if len(known) < len(resamples):
        return None
    refit = fit_affine if curve.shape == "affine" else fit_hinge
    count = min(_REFITS, *(len(resampled) for resampled in known))
    rows = zip(*(resampled[:count].tolist() for resampled in known), strict=True)
    tops = sorted(find_optimum(refit(list(zip(values, row, strict=True)))) for row in rows)
    low, high = tops[int(count * LEVEL / 2)], tops[min(count - 1, int(count * (1 - LEVEL / 2)))]
    return (
        low if values[0] <= low <= values[-1] else None,
        high if values[0] <= high <= values[-1] else None,
    )
