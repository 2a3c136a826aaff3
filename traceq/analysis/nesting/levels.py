"""Nesting of one thread's host slices with arrays, level by level: for slices that nest exactly, nearly all, and much faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from traceq.analysis.nesting.stack import AROUND, NEVER, NOBODY, Open, SlicePlaces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traceq.analysis.nesting.stack import Integers, OpenSlices


def place_nested(
    stack: OpenSlices, ids: Integers, kinds: Integers, starts: Integers, ends: Integers, least_per_level: int = 0
) -> SlicePlaces:
    """Place slices of a thread (in order of start, longest first) up to the first one that does not nest.

    Return the places of these slices only, and open in `stack` those around the last; none if the open slices of the stack
    do not nest, or where there are fewer slices than `least_per_level` for each level. `kinds` are bits of nesting_kind.
    """
    if not stack.nests:
        return SlicePlaces([], [], [[] for _ in AROUND])
    # Slices still open from before go first, as if they had always been open.
    count = len(ids)
    opened = np.array(stack.opened, np.int64).reshape(-1, len(Open._fields))
    ends, ids, kinds = (np.append(opened[:, field], new) for field, new in enumerate((ends, ids, kinds)))
    starts = np.append(np.full(len(opened), -NEVER), starts)
    depths = _find_depths(starts, ends)
    if count < least_per_level * depths.max(initial=0):
        return SlicePlaces([], [], [[] for _ in AROUND])
    parents = np.full(len(depths), NOBODY)
    parent_ids = parents.copy()
    around = [parents.copy() for _ in AROUND]
    nesting = len(depths)
    present = np.bitwise_or.reduce(kinds, initial=0)
    to_find = [
        (bit, innermost, column) for (bit, innermost), column in zip(AROUND, around, strict=True) if present & bit
    ]
    for rows, above in _split_levels(depths):
        # What comes before the first that does not nest is right: depths and parents depend on earlier slices only.
        astray = rows[(above == NOBODY) | (ends[rows] > ends[above])]
        nesting = min(nesting, astray.min(initial=nesting))
        right = slice(np.searchsorted(rows, nesting))
        children, their_parents = rows[right], above[right]
        their_kinds, their_ids = kinds[their_parents], ids[their_parents]
        parents[children] = their_parents
        parent_ids[children] = their_ids
        for bit, innermost, column in to_find:
            further = column[their_parents]
            counts = (their_kinds & bit != 0) & (innermost | (further == NOBODY))
            column[children] = np.where(counts, their_ids, further)
    if nesting > len(opened):
        last = _with_its_parents(parents, nesting - 1)
        stack.open([Open(*map(int, (ends[row], ids[row], kinds[row]))) for row in last])
    new = slice(len(opened), max(nesting, len(opened)))
    return SlicePlaces(depths[new], parent_ids[new], [column[new] for column in around])


def _find_depths(starts: Integers, ends: Integers) -> Integers:
    """Return for each row how many earlier rows have not ended when it starts; rows are in order of start, longest first."""
    rows = np.arange(len(starts))
    ended = np.searchsorted(np.sort(ends), starts, side="right")
    # Instants at the same time have ended too, but those that come later must not count. They close their group of starts.
    instants = np.append(0, np.cumsum(starts == ends))
    later_instants = instants[np.searchsorted(starts, starts, side="right")] - instants[rows]
    depths: Integers = rows - (ended - later_instants)
    return depths


def _split_levels(depths: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield for each depth from 1 on the rows with that depth, and their parents.

    A parent is the last earlier row one level less deep; NOBODY without one.
    """
    by_depth = np.argsort(depths, kind="stable")
    bounds = np.searchsorted(depths[by_depth], np.arange(depths.max(initial=-1) + 2))
    for outer, inner, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        above, rows = by_depth[outer:inner], by_depth[inner:end]
        place = np.searchsorted(above, rows) - 1
        yield rows, np.where(place < 0, NOBODY, above[place]) if len(above) else np.full(len(rows), NOBODY)


def _with_its_parents(parents: Integers, row: int) -> list[int]:
    """Return the row and all rows that enclose it, the outermost first."""
    chain = []
    while row != NOBODY:
        chain.append(row)
        row = int(parents[row])
    return chain[::-1]
