"""Exact parts: fractions of a step as whole nanoseconds that add up to the whole."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor


def whole(parts: Sequence[Fraction], total: int) -> list[int]:
    """The parts as integers that add up to `total`, which is their sum rounded: the largest remainders are rounded up.

    Raises ValueError when `total` is not within one of the sum.
    """
    if abs(sum(parts, Fraction(0)) - total) > 1:
        raise ValueError(f"parts that add up to {float(sum(parts))} cannot be rounded to {total}")
    down = [floor(part) for part in parts]
    missing = total - sum(down)
    order = sorted(range(len(parts)), key=lambda place: (down[place] - parts[place], place))
    # The sum may have been rounded down below the sum of what was rounded down, or up beyond all that can go up.
    if missing < 0:
        order.reverse()
    for number in range(abs(missing)):
        down[order[number % len(order)]] += 1 if missing > 0 else -1
    return down
