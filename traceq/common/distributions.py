"""Probabilities and quantiles of Student's t and of chi squared."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

LEVEL = 0.05
"""How often chance may pass for a difference; intervals are of 95 %."""


def student_p(t: float, freedom: int) -> float:
    """Return the two-sided p of the value `t` of Student's t, for a whole number of degrees of freedom.

    It is computed by the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan(abs(t) / math.sqrt(freedom))
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for number in range(2 + odd, freedom + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (number - 1) / number
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return min(max(1 - inside, 0.0), 1.0)


@cache
def student_quantile(level: float, freedom: int) -> float:
    """Return the value t (above 0) whose two-sided p is `level` for Student's t with these degrees of freedom."""
    return _bisect(lambda t: student_p(t, freedom) <= level, 1e7)


def chi_squared_share(value: float, freedom: int) -> float:
    """Return the probability that chi squared with these degrees of freedom is below `value`.

    It is the regularised incomplete gamma function, by its power series (NIST Digital Library of Mathematical
    Functions, 8.7.1).
    """
    shape, half = freedom / 2, value / 2
    if half <= 0:
        return 0.0
    term = total = 1 / shape
    number = 0
    while term > total * 1e-17:
        number += 1
        term *= half / (shape + number)
        total += term
    return total * math.exp(shape * math.log(half) - half - math.lgamma(shape))


@cache
def chi_squared_quantile(share: float, freedom: int) -> float:
    """Return the value below which chi squared lies with probability `share`, for these degrees of freedom."""
    return _bisect(lambda value: chi_squared_share(value, freedom) >= share, 100.0 + 3 * freedom)


def _bisect(is_beyond: Callable[[float], bool], high: float) -> float:
    """Return the least value between 0 and `high` for which `is_beyond` holds, to nine digits.

    It holds for all larger ones.
    """
    low = 0.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


def widening(count: int) -> float:
    """Return the factor by which to widen resampled deviations of `count` runs, so that percentiles are right for few runs.

    Few runs scatter less around their own mean than around the true one.
    """
    many = 1_000  # degrees of freedom with which Student's t is as good as normal
    return math.sqrt(count / (count - 1)) * student_quantile(LEVEL, count - 1) / student_quantile(LEVEL, many)
