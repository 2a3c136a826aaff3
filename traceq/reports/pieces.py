"""Slices that are drawn, many short ones as one: neighbours on a track and depth that begin in the same stretch of time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]


class Stretch(NamedTuple):
    """The lengths in ns below which slices are merged: in general, and in steps drawn in detail; 0 merges none."""

    coarse: int
    fine: int


class DrawnPieces(NamedTuple):
    """Columns of pieces to draw; a piece is `slices` merged slices of one track and depth, `busy` ns long in sum.

    `cell` is the ns at which its cell of the drawing begins, or its own start until it is merged. `number` is the slice
    number of its longest slice (the highest of equally long ones), `longest` the ns of this slice. `is_alone` is
    whether it was never merged, `is_fine` whether it is in a step drawn in detail.
    """

    track: Numbers
    depth: Numbers
    is_fine: Numbers
    is_culprit: Numbers
    is_alone: Numbers
    cell: Numbers
    number: Numbers
    longest: Numbers
    ts: Numbers
    ts_end: Numbers
    busy: Numbers
    slices: Numbers

    def select(self, chosen: Numbers) -> DrawnPieces:
        """Return the pieces at the indices `chosen`, or those where it is true if it is a boolean mask."""
        return DrawnPieces(*(column[chosen] for column in self))


def pieces_of(
    track: Numbers,
    depth: Numbers,
    number: Numbers,
    ts: Numbers,
    ts_end: Numbers,
    *,
    is_fine: Numbers,
    is_culprit: Numbers,
) -> DrawnPieces:
    """Return a piece for each slice, none merged yet; `ts` and `ts_end` are ns."""
    dur = ts_end - ts
    is_alone = np.ones(len(ts), bool)
    return DrawnPieces(track, depth, is_fine, is_culprit, is_alone, ts, number, dur, ts, ts_end, dur, np.ones_like(ts))


def join_pieces(pieces: Iterable[DrawnPieces]) -> DrawnPieces:
    """Return the pieces of all as one, in their order."""
    return DrawnPieces(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def merge_short(pieces: DrawnPieces, stretch: Stretch) -> DrawnPieces:
    """Return the pieces with short ones in the same cell of a track and depth merged into one, the merged ones last.

    Short are pieces below the lengths in `stretch`, and those merged before; a culprit's piece is not. The lengths are
    also those of the cells, and multiples of the lengths of an earlier merge.
    """
    least, stays = _find_short(pieces, stretch)
    order, first, cell = _sort_cells(pieces, least, stays)
    if not len(order):
        return pieces
    longest_of = pieces.longest[order]
    longest = np.maximum.reduceat(longest_of, first)
    count = np.diff(np.append(first, len(order)))
    is_longest = longest_of == np.repeat(longest, count)
    is_of_slices = pieces.busy is pieces.longest  # each is one slice, as pieces_of makes them
    grouped = pieces.select(order[first])._replace(
        is_alone=np.zeros(len(first), bool),
        cell=cell[first] * least[order[first]],
        number=np.maximum.reduceat(np.where(is_longest, pieces.number[order], -1), first),
        longest=longest,
        ts=np.minimum.reduceat(pieces.ts[order], first),
        ts_end=np.maximum.reduceat(pieces.ts_end[order], first),
        busy=np.add.reduceat(longest_of if is_of_slices else pieces.busy[order], first),
        slices=count if is_of_slices else np.add.reduceat(pieces.slices[order], first),
    )
    return join_pieces((pieces.select(stays), grouped))


def count_merged(pieces: DrawnPieces, stretch: Stretch) -> tuple[int, int]:
    """Return how many pieces merge_short() would leave: (outside of steps drawn in detail, inside)."""
    least, stays = _find_short(pieces, stretch)
    order, first, _ = _sort_cells(pieces, least, stays)
    is_fine = np.concatenate((pieces.is_fine[stays], pieces.is_fine[order[first]]))
    fine = int(np.count_nonzero(is_fine))
    return len(is_fine) - fine, fine


def _find_short(pieces: DrawnPieces, stretch: Stretch) -> tuple[Numbers, Numbers]:
    """Return two arrays with an element for each piece: the ns below which it is merged, and whether it stays as it is."""
    least = np.where(pieces.is_fine, stretch.fine, stretch.coarse)
    return least, (least == 0) | (pieces.is_alone & (pieces.is_culprit | (pieces.longest >= least)))


def _sort_cells(pieces: DrawnPieces, least: Numbers, stays: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return (indices of the pieces to merge, ordered by cell; where in this order each cell begins.

    Cell number in this order). `least` is the length of each piece's cell in ns, `stays` whether it stays as it is.
    """
    order = np.flatnonzero(~stays)
    lane = ((pieces.track[order].astype(np.uint16) * 16 + pieces.depth[order]) * 2 + pieces.is_fine[order]).astype(
        np.uint16
    )
    cell = pieces.cell[order] // least[order]
    by_lane = np.argsort(lane, kind="stable")
    is_next, later = _find_changes(lane[by_lane]), np.diff(cell[by_lane])
    if np.any((later < 0) & ~is_next):
        by_lane = np.lexsort((cell, lane))
        is_next, later = _find_changes(lane[by_lane]), np.diff(cell[by_lane])
    first = np.flatnonzero(np.concatenate((np.ones(min(len(order), 1), bool), is_next | (later != 0))))
    return order[by_lane], first, cell[by_lane]


def _find_changes(lane: Numbers) -> Numbers:
    return np.not_equal(lane[1:], lane[:-1])
