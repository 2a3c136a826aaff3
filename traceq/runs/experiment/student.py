"""Student's t for whole degrees of freedom, by its finite sums (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""

from __future__ import annotations

from functools import cache
from math import atan, cos, pi, sin, sqrt

_HIGHEST = 1e7


def beyond(t: float, freedom: int) -> float:
    """The probability of a value as far from 0 as `t`, on either side: p of the two-sided test."""
    angle = atan(abs(t) / sqrt(freedom))
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for number in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (number - 1) / number
    inside = 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
    return min(max(1 - inside, 0.0), 1.0)


@cache
def quantile(level: float, freedom: int) -> float:
    """The value beyond which, on both sides together, lies `level` of the probability."""
    low, high = 0.0, _HIGHEST
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle, freedom) > level else (low, middle)
    return high
