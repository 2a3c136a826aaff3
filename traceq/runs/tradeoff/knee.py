"""The knee: the amount of work B per step at which B / f(B)^2 is largest.

That is throughput over latency, Kleinrock's power. Below it more work buys more throughput than it costs latency, above it less.
For a + b B it is a / b, Hockney's n_1/2, at which half of the highest throughput is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from traceq.runs.compare.statistics import Floats
from traceq.runs.tradeoff.curve import affine, hinge
from traceq.runs.tradeoff.points import LEVEL
from traceq.runs.tradeoff.tradeoff import Curve, Knee, Place, Point

_REFITS = 400
# The sum of what is rounded in a fit; what is as close to an end of the range is the end.
_ROUNDING = 1e-9


def knee_of(curve: Curve, points: Sequence[tuple[float, Point]], resamples: Sequence[Floats | None]) -> Knee:
    """The knee of `curve`, how it scatters with the steps, and the best of the values tried; points as (value, point)."""
    low, high = points[0][0], points[-1][0]
    top = optimum(curve)
    place = _place(top, low, high)
    tried = max(points, key=lambda each: each[0] / each[1].typical_ns ** 2)[0]
    value = min(max(top, low), high) if place == "within" else None
    return Knee(place, value, _interval(curve, [each for each, _ in points], resamples), tried)


def optimum(curve: Curve) -> float:
    """The value with the largest B / f(B)^2: 0 when a step costs nothing but its work, infinite when work costs nothing."""
    if not curve.per_unit_ns:
        return inf
    linear = curve.fixed_ns / curve.per_unit_ns
    return max(linear, (curve.flat_ns - curve.fixed_ns) / curve.per_unit_ns) if curve.flat_ns else linear


def _place(top: float, low: float, high: float) -> Place:
    if top < low * (1 - _ROUNDING):
        return "below"
    return "beyond" if top > high * (1 + _ROUNDING) else "within"


def _interval(
    curve: Curve, values: Sequence[float], resamples: Sequence[Floats | None]
) -> tuple[float | None, float | None] | None:
    """Where the knee of the same shape lies with 95 %, by fits to resampled steps; None without resamples of every value."""
    known = [resampled for resampled in resamples if resampled is not None]
    if len(known) < len(resamples):
        return None
    refit = affine if curve.shape == "affine" else hinge
    count = min(_REFITS, *(len(resampled) for resampled in known))
    rows = zip(*(resampled[:count].tolist() for resampled in known), strict=True)
    tops = sorted(optimum(refit(list(zip(values, row, strict=True)))) for row in rows)
    low, high = tops[int(count * LEVEL / 2)], tops[min(count - 1, int(count * (1 - LEVEL / 2)))]
    return (
        low if values[0] <= low <= values[-1] else None,
        high if values[0] <= high <= values[-1] else None,
    )
