"""Cap savings: what a fix wins at least, likely and at most is in order, and no more than what the cause takes."""

from __future__ import annotations

from typing import NamedTuple


class Saving(NamedTuple):
    """Low, likely and high saving of a fix, ns per counted step."""

    low: float
    likely: float
    high: float


def cap_saving(low: float, likely: float, high: float, most: float) -> Saving:
    """Return the savings in order, none below 0 and none above `most`; all in ns per counted step.

    What is likely is never above what is won at most: a bound is worth more than an estimate.
    """
    high = max(0.0, min(high, most))
    likely = max(0.0, min(likely, high))
    return Saving(max(0.0, min(low, likely)), likely, high)
