"""Loops that follow one another and share launches: what recurs through all of them recurs after several rounds of each.

A reference of five launches a round and a solver of four both recur after twenty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traceq.analysis.nesting.stack import Integers

# A loop lasts for so many of the common periods at least: shorter runs of like launches are inside of a round.
_LEAST_PERIODS = 3
# Of the launches that recur, in loops of their own.
_MOSTLY = 0.93


class Loop(NamedTuple):
    """Launches [first, last) that are the same as the one `lag` launches before, but for the first round."""

    first: int
    last: int
    lag: int


def one_after_another(numbers: Integers, first: int, last: int, lag: int) -> tuple[Loop, ...]:
    """Return the loops of shorter periods that the launches [first, last), which recur at `lag`, consist of, in their order.

    Empty where they are one loop.
    """
    found = tuple(sorted(_find_loops(numbers, first, last, lag)))
    is_most = sum(loop.last - loop.first for loop in found) >= _MOSTLY * (last - first)
    return found if is_most and len({loop.lag for loop in found}) > 1 else ()


def _find_loops(numbers: Integers, first: int, last: int, lag: int) -> Iterator[Loop]:
    """Yield the longest loop in [first, last) of a period that divides `lag`, and those before and after it.

    A loop of `lag` itself is one where no shorter period lasts.
    """
    least = _LEAST_PERIODS * lag
    if last - first < least:
        return
    shorter = [part for part in range(1, lag // 2 + 1) if lag % part == 0]
    longest = max(
        (_find_longest_loop(numbers, first, last, part) for part in shorter),
        key=lambda loop: (loop.last - loop.first, -loop.lag),
        default=Loop(first, first, lag),
    )
    if longest.last - longest.first < least:
        longest = _find_longest_loop(numbers, first, last, lag)
    if longest.last - longest.first < least:
        return
    yield from _find_loops(numbers, first, longest.first, lag)
    yield longest
    yield from _find_loops(numbers, longest.last, last, lag)


def _find_longest_loop(numbers: Integers, first: int, last: int, lag: int) -> Loop:
    """Return the whole rounds of the longest run in [first, last) in which each launch is the same as the one `lag` before."""
    same = numbers[first : last - lag] == numbers[first + lag : last]
    borders = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    starts, ends = borders[::2], borders[1::2]
    if not len(starts):
        return Loop(first, first, lag)
    place = int(np.argmax(ends - starts))
    # whole rounds: a launch that the next loop begins with, too, is its own
    return Loop(
        first + int(starts[place]),
        first + int(starts[place]) + int(ends[place] + lag - starts[place]) // lag * lag,
        lag,
    )
