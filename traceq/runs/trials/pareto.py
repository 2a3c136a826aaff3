"""Find points that no other one beats: one judgement for trade-offs and for experiments.

A point is a row of positive numbers of which more is better. One dominates another that beats it by 1 % or more in some number
and in none loses as much: a difference that nobody would act on decides nothing. None that is dominated is recommended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeVar

# A loss that nobody would act on.
ALIKE = 0.01

T = TypeVar("T")
Points = Mapping[T, Sequence[float]]


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether `one` beats `other` by 1 % or more in some number and loses less than that in all others.

    Only the point with the higher product can dominate, so that points cannot dominate each other in a circle.
    """
    pairs = list(zip(one, other, strict=True))
    return (
        all(mine >= its * (1 - ALIKE) for mine, its in pairs)
        and any(mine * (1 - ALIKE) > its for mine, its in pairs)
        and prod(one) > prod(other)
    )


def find_dominated(points: Points[T]) -> dict[T, T]:
    """Return each dominated point with the best of those that dominate it, preferably an undominated one.

    `points` are merits by name; more is better.
    """
    beaten_by = {
        name: [each for each, other in points.items() if dominates(other, point)] for name, point in points.items()
    }
    return {
        name: max(others, key=lambda each: (not beaten_by[each], prod(points[each])))
        for name, others in beaten_by.items()
        if others
    }


def find_alike(values: Mapping[T, float], may_be_as_good: Callable[[T, T], bool]) -> list[T]:
    """Return the names whose value is the highest or less than 1 % below it, or may be as good by chance.

    `may_be_as_good(name, best)` says so.
    """
    best = max(values, key=lambda each: values[each])
    return [each for each, value in values.items() if value >= values[best] * (1 - ALIKE) or may_be_as_good(each, best)]


def drop_dominated(candidates: Sequence[T], values: Mapping[T, float], beaten: Mapping[T, T]) -> list[T]:
    """Return the candidates that are not keys of `beaten`; if all are, the undominated name with the highest value."""
    kept = [candidate for candidate in candidates if candidate not in beaten]
    return kept or [max((value for value in values if value not in beaten), key=lambda each: values[each])]
