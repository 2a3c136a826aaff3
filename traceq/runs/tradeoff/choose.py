"""Which value serves throughput, which latency, and what a budget of latency leaves.

A value is dominated by another that has no longer step and no less throughput, and one of them better by 1 % or more. None is
recommended.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traceq.runs.compare.statistics import Floats
from traceq.runs.tradeoff.points import LEVEL
from traceq.runs.tradeoff.tradeoff import Choice, Curve, Percentile, Point, Setting, Within

# A loss that nobody would act on.
ALIKE = 0.01


def choice_of(points: Sequence[Point], resamples: Sequence[Floats | None]) -> Choice | None:
    """The best values for latency and for throughput; None with fewer than two."""
    if len(points) < 2:  # noqa: PLR2004 - to choose from
        return None
    efficient = _efficient(points)
    alike_fast = _alike(points, resamples, [1.0] * len(points))
    alike_much = _alike(points, resamples, [point.work for point in points])
    fast, much = ([place for place in each if points[place] in efficient] for each in (alike_fast, alike_much))
    both = [place for place in fast if place in much]
    return Choice(
        latency=points[both[0]] if both else max((points[place] for place in fast), key=lambda point: point.throughput),
        latency_top=min(points, key=lambda point: point.typical_ns),
        latency_alike=tuple(points[place].value or 0.0 for place in alike_fast),
        throughput=points[much[0]],
        throughput_top=max(points, key=lambda point: point.throughput),
        throughput_alike=tuple(points[place].value or 0.0 for place in alike_much),
    )


def _efficient(points: Sequence[Point]) -> list[Point]:
    """The points that no other one dominates."""
    return [point for point in points if not any(_dominates(other, point) for other in points)]


def _dominates(other: Point, point: Point) -> bool:
    faster, more = point.typical_ns / other.typical_ns, other.throughput / point.throughput
    return min(faster, more) >= 1 and max(faster, more) > 1 / (1 - ALIKE)


def _alike(points: Sequence[Point], resamples: Sequence[Floats | None], work: Sequence[float]) -> list[int]:
    """Places of the points whose throughput is not significantly below the highest, or less than 1 % below it."""
    rates = [each / point.typical_ns for each, point in zip(work, points, strict=True)]
    best = max(range(len(points)), key=lambda place: rates[place])
    return [
        place
        for place in range(len(points))
        if rates[place] >= rates[best] * (1 - ALIKE)
        or _may_be_as_good(resamples[place], resamples[best], work[place] / work[best])
    ]


def _may_be_as_good(mine: Floats | None, best: Floats | None, work: float) -> bool:
    """Whether resamples of typical steps leave it open; `work` per step is relative to that of the best."""
    if mine is None or best is None:
        return False
    return float(np.quantile(work * best / mine, 1 - LEVEL / 2)) >= 1


def within_budget(
    points: Sequence[Point], curve: Curve | None, choice: Choice | None, setting: Setting
) -> Within | None:
    """What fits the budget of `setting`; None without one. `choice` is that without a budget."""
    if setting.budget_ns is None:
        return None
    fitting = [point for point in points if point.latency(setting.percentile) <= setting.budget_ns]
    if not fitting:
        return Within(None, points[0] if points else None, None)
    if not setting.is_amount:
        alike = () if choice is None else choice.throughput_alike
        good = [point for point in _efficient(fitting) if point.value in alike]
        return Within(good[0] if good else max(fitting, key=lambda point: point.throughput), None, None)
    largest = fitting[-1]
    later = points[points.index(largest) + 1 :]
    following = later[0] if later else None
    if following is None or curve is None:
        return Within(largest, following, None)
    return Within(largest, following, _between(largest, following, curve, setting.percentile, setting.budget_ns))


def _between(largest: Point, following: Point, curve: Curve, percentile: Percentile, budget: int) -> float | None:
    """The largest value between two that were tried at which the curve stays within the budget.

    The percentile is taken to be as far above the curve as at the worse of the two. None where that adds nothing, or
    would fit the value that was tried and does not.
    """
    above = max(point.latency(percentile) / curve.at(point.value or 0.0) for point in (largest, following))
    allowed = budget / above
    if allowed < curve.flat_ns or not curve.per_unit_ns:
        return None
    value = (allowed - curve.fixed_ns) / curve.per_unit_ns
    return value if (largest.value or 0.0) < value < (following.value or 0.0) else None
