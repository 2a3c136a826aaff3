"""Aligns the kernels of a replayed graph with those of a captured one, or of a stretch of kernels that ran without a graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

# Share of the kernels, of the longer of both, that must agree: products of another batch size are other kernels, and a layer
# has one for every three to ten kernels.
ENOUGH = 0.9

# Of kernels whose grids both sides tell: below, they are of another size.
ENOUGH_GRIDS = 0.5

# Cells of the table by which two sequences are aligned, once what agrees at both ends is taken off: 2 bytes each.
_MOST_CELLS = 50_000_000

# Kernels in a row by which stretches that look alike are found, and how many stretches are looked at.
_IN_A_ROW = 4
_MOST_STRETCHES = 64

# Share of the kernels in a row that such a stretch has at least: every kernel that differs is in several of them.
_ENOUGH_ROWS = 0.5

# How the place of a kernel was found.
NONE, ORDER, NAME, COUNT, NODE = range(5)


class Places(NamedTuple):
    """For each replayed kernel, its index among the captured kernels in `place` (-1: none).

    `how` is how that was found: NONE, ORDER, NAME, COUNT or NODE.
    """

    place: Integers
    how: Integers

    @property
    def matched(self) -> int:
        """The number of replayed kernels that have a place among the captured ones."""
        return int((self.place >= 0).sum())


def align_by_order(replayed: Integers, captured: Integers) -> Places | None:
    """Align two sequences of kernel names by their longest common subsequence, then pair the rest by name.

    Names are codes, -1 where unknown; unknown names match nothing. Return None where the parts that differ are too long
    to be aligned.
    """
    place = np.full(len(replayed), -1)
    same = _common_length(replayed, captured)
    place[:same] = np.arange(same)
    tail = _common_length(replayed[same:][::-1], captured[same:][::-1])
    place[len(replayed) - tail :] = np.arange(len(captured) - tail, len(captured))
    ours, theirs = replayed[same : len(replayed) - tail], captured[same : len(captured) - tail]
    if len(ours) * len(theirs) > _MOST_CELLS:
        return None
    for mine, its in _longest_common(ours, theirs):
        place[same + mine] = same + its
    how = np.where(place >= 0, ORDER, NONE)
    _pair_by_name(replayed, captured, place, how)
    return Places(place, how)


def place_in_turn(kernels: int) -> Places:
    """Return Places that pair the n-th of `kernels` replayed kernels with the n-th captured one.

    This is for captures without kernel names, of which only the number of kernels is known.
    """
    return Places(np.arange(kernels), np.full(kernels, COUNT))


def most_in_common(replayed: Integers, captured: Integers) -> int:
    """Return how many known kernel names both sequences share, whatever their order: the most that an alignment can pair."""
    mine, its = Counter(replayed.tolist()), Counter(captured.tolist())
    return sum(min(count, its[name]) for name, count in mine.items() if name >= 0)


class Rows:
    """Index of a long sequence of kernel names, to find in it short runs of consecutive kernels."""

    def __init__(self, names: Integers) -> None:
        self._names = names
        self._places: dict[int, dict[tuple[int, ...], list[int]]] = {}

    def of(self, row: int) -> dict[tuple[int, ...], list[int]]:
        """Return the positions at which each run of `row` consecutive kernel names begins, by run; remembered for each `row`."""
        if row not in self._places:
            places = self._places[row] = defaultdict(list)
            for at, key in enumerate(_kernels_in_row(self._names, row)):
                places[key].append(at)
        return self._places[row]


def find_stretches(replayed: Integers, eager: Rows) -> list[int]:
    """Return up to 64 positions in the `eager` kernels where a stretch like the replayed graph may begin, the likeliest first.

    At the likeliest most of the graph's short runs of kernels are found at their places; at each, at least half of them are.
    A position is negative where the begin of the graph is missing.
    """
    row = min(_IN_A_ROW, len(replayed))
    places = eager.of(row)
    votes: Counter[int] = Counter()
    for at, key in enumerate(_kernels_in_row(replayed, row)):
        votes.update(found - at for found in places.get(key, ()))
    enough = _ENOUGH_ROWS * (len(replayed) - row + 1)
    found = [(count, start) for start, count in votes.items() if count >= enough]
    return [start for _, start in sorted(found, key=lambda vote: (-vote[0], vote[1]))[:_MOST_STRETCHES]]


def _kernels_in_row(codes: Integers, row: int) -> Iterator[tuple[int, ...]]:
    """Yield each run of `row` consecutive codes as a tuple, one run for each position where one begins."""
    return zip(*(codes[first:].tolist() for first in range(row)), strict=False)


def _common_length(ours: Integers, theirs: Integers) -> int:
    """Return how many names at the start of both sequences are known and equal."""
    length = min(len(ours), len(theirs))
    differ = np.flatnonzero((ours[:length] != theirs[:length]) | (ours[:length] < 0))
    return int(differ[0]) if len(differ) else length


def _longest_common(ours: Integers, theirs: Integers) -> Iterator[tuple[int, int]]:
    """Yield the pairs of positions (in `ours`, in `theirs`) of a longest common subsequence, the last pair first.

    Unknown names (below 0) are equal to nothing.
    """
    lengths = np.zeros((len(ours) + 1, len(theirs) + 1), np.uint16)
    for row, name in enumerate(ours, start=1):
        above = lengths[row - 1]
        extended = above[:-1] + ((theirs == name) & (name >= 0))
        np.maximum.accumulate(np.maximum(above[1:], extended), out=lengths[row, 1:])
    mine, its = len(ours), len(theirs)
    while mine and its:
        if ours[mine - 1] == theirs[its - 1] and ours[mine - 1] >= 0:
            mine, its = mine - 1, its - 1
            yield mine, its
        elif lengths[mine - 1, its] >= lengths[mine, its - 1]:
            mine -= 1
        else:
            its -= 1


def _pair_by_name(replayed: Integers, captured: Integers, place: Integers, how: Integers) -> None:
    """Pair kernels that have no place yet with free captured ones of the same name, in their order.

    A name is paired only where both sides have equally many kernels of it left. Writes the pairs into `place` and `how`.
    """
    left = np.flatnonzero(place < 0)
    free = np.setdiff1d(np.arange(len(captured)), place)
    for name in np.unique(replayed[left]):
        mine, its = left[replayed[left] == name], free[captured[free] == name]
        if name >= 0 and len(mine) == len(its):
            place[mine], how[mine] = its, NAME
