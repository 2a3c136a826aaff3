"""Choose the values that serve throughput and latency, and those that a latency budget allows.

By step and throughput; a value that is dominated (pareto.py) is not recommended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from traceq.common.distributions import LEVEL
from traceq.runs.statistics import Floats
from traceq.runs.trials.pareto import drop_dominated, find_alike, find_dominated
from traceq.runs.trials.tradeoff import BestValues, Percentile, Point, StepCurve, TradeoffTerms, Within


def choose_values(points: Sequence[Point], resamples: Sequence[Floats | None]) -> BestValues | None:
    """Return the best tried values for latency and for throughput; None with fewer than two points.

    `resamples` are the resampled typical steps of each point, ns, or None.
    """
    if len(points) < 2:  # noqa: PLR2004 - to choose from
        return None
    beaten = _find_dominated(points)
    rates = [dict(enumerate(1 / p.typical_ns for p in points)), dict(enumerate(p.throughput for p in points))]
    alike_fast = _list_alike(rates[0], resamples, [1.0] * len(points))
    alike_much = _list_alike(rates[1], resamples, [point.work for point in points])
    fast, much = (
        drop_dominated(each, rate, beaten) for each, rate in zip((alike_fast, alike_much), rates, strict=True)
    )
    both = [place for place in fast if place in much]
    return BestValues(
        latency=points[both[0]] if both else max((points[place] for place in fast), key=lambda point: point.throughput),
        latency_top=min(points, key=lambda point: point.typical_ns),
        latency_alike=tuple(points[place].value or 0.0 for place in alike_fast),
        throughput=points[much[0]],
        throughput_top=max(points, key=lambda point: point.throughput),
        throughput_alike=tuple(points[place].value or 0.0 for place in alike_much),
    )


def pair_dominated(points: Sequence[Point]) -> tuple[tuple[Point, Point], ...]:
    """Return each dominated point with a point that dominates it, by latency and throughput."""
    return tuple((points[place], points[by]) for place, by in _find_dominated(points).items())


def _find_dominated(points: Sequence[Point]) -> dict[int, int]:
    """Return the index of each dominated point with the index of a point that dominates it."""
    return find_dominated({place: (1 / point.typical_ns, point.throughput) for place, point in enumerate(points)})


def _list_alike(rates: Mapping[int, float], resamples: Sequence[Floats | None], work: Sequence[float]) -> list[int]:
    """Return the indices of points whose rate (steps or work per second) may be the highest, or is less than 1 % below it.

    `work` is the work per step of each point.
    """
    return find_alike(
        rates, lambda place, best: _may_be_as_good(resamples[place], resamples[best], work[place] / work[best])
    )


def _may_be_as_good(mine: Floats | None, best: Floats | None, work: float) -> bool:
    """Return whether resampled typical steps leave it open that a point is as good as the best one.

    `work` is the point's work per step relative to the best one's. False without resamples.
    """
    if mine is None or best is None:
        return False
    return float(np.quantile(work * best / mine, 1 - LEVEL / 2)) >= 1


def fit_budget(
    points: Sequence[Point], curve: StepCurve | None, choice: BestValues | None, setting: TradeoffTerms
) -> Within | None:
    """Return the best value within the latency budget, the next larger one tried, and an estimate between them.

    None without a budget. `setting` holds the budget and its percentile. `choice` are the best values without a budget,
    which decide if the knob does not count work.
    """
    if setting.budget_ns is None:
        return None
    fitting = [point for point in points if point.latency(setting.percentile) <= setting.budget_ns]
    if not fitting:
        return Within(None, points[0] if points else None, None)
    beaten = _find_dominated(fitting)
    good = [point for place, point in enumerate(fitting) if place not in beaten]
    if not setting.is_amount:
        much = () if choice is None else choice.throughput_alike
        best = [point for point in good if point.value in much]
        return Within(best[0] if best else max(good, key=lambda point: point.throughput), None, None)
    largest = good[-1]
    later = points[points.index(largest) + 1 :]
    following = later[0] if later else None
    if following is None or following in fitting or curve is None:
        return Within(largest, following, None)
    return Within(
        largest, following, _estimate_between(largest, following, curve, setting.percentile, setting.budget_ns)
    )


def _estimate_between(
    largest: Point, following: Point, curve: StepCurve, percentile: Percentile, budget: int
) -> float | None:
    """Return the largest value between two tried ones that keeps the budget by the fitted curve; None if it gives none.

    The percentile is taken to be above the curve by the same factor as at the worse of the two tried values.
    """
    above = max(point.latency(percentile) / curve.at(point.value or 0.0) for point in (largest, following))
    allowed = budget / above
    if allowed < curve.flat_ns or not curve.per_unit_ns:
        return None
    value = (allowed - curve.fixed_ns) / curve.per_unit_ns
    return value if (largest.value or 0.0) < value < (following.value or 0.0) else None
