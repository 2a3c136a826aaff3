"""A factor or a time that is only known within bounds."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple


class FactorRange(NamedTuple):
    """A factor, or a time: at the least, likely, and at the most."""

    low: float
    likely: float
    high: float

    def multiply_by(self, other: FactorRange) -> FactorRange:
        """Return the product of two ranges of positive factors that do not depend on each other."""
        return FactorRange(self.low * other.low, self.likely * other.likely, self.high * other.high)

    def join_range(self, other: FactorRange) -> FactorRange:
        """Return the range that holds both; likely is their geometric mean."""
        return FactorRange(min(self.low, other.low), sqrt(self.likely * other.likely), max(self.high, other.high))


SAME = FactorRange(1, 1, 1)
