"""Cap savings: what a fix wins at least, likely and at most is in order, and no more than what the cause takes."""

from __future__ import annotations

from typing import NamedTuple


class Saving(NamedTuple):
    """Low, likely and high saving of a fix, ns per counted step."""

    low: float
    likely: float
    high: float


def cap_saving(low: float, likely: float, high: float, most: float) -> Saving:
    """Return the saving with 0 <= low <= likely <= high <= `most`; all in ns per counted step.

    A value above the next higher bound is lowered to it.
    """
    high = max(0.0, min(high, most))
    likely = max(0.0, min(likely, high))
    return Saving(max(0.0, min(low, likely)), likely, high)
