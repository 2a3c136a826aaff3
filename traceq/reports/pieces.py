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
    """Columns of pieces to draw; a piece is `slices` merged slices that begin in `cell` or later, `busy` ns long in sum.

    `number` is the slice number of its longest slice (of equal ones the last), and `longest` is the length of this one.
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
        """Return the pieces at the given places, or where the boolean mask `chosen` is true."""
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
    """Return a piece for each slice, none merged yet."""
    dur = ts_end - ts
    is_alone = np.ones(len(ts), bool)
    return DrawnPieces(track, depth, is_fine, is_culprit, is_alone, ts, number, dur, ts, ts_end, dur, np.ones_like(ts))


def join_pieces(pieces: Iterable[DrawnPieces]) -> DrawnPieces:
    """Concatenate the pieces."""
    return DrawnPieces(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def merge_short(pieces: DrawnPieces, stretch: Stretch) -> DrawnPieces:
    """Return the pieces with short neighbours on one track merged into one.

    `stretch` has the lengths below which pieces are short: multiples of those by which the pieces were merged before.
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
    """Return how many pieces merge_short would leave: outside of detailed steps, and in them."""
    least, stays = _find_short(pieces, stretch)
    order, first, _ = _sort_cells(pieces, least, stays)
    is_fine = np.concatenate((pieces.is_fine[stays], pieces.is_fine[order[first]]))
    fine = int(np.count_nonzero(is_fine))
    return len(is_fine) - fine, fine


def _find_short(pieces: DrawnPieces, stretch: Stretch) -> tuple[Numbers, Numbers]:
    """Return for each piece the length in ns below which it is merged, and whether it stays as it is."""
    least = np.where(pieces.is_fine, stretch.fine, stretch.coarse)
    return least, (least == 0) | (pieces.is_alone & (pieces.is_culprit | (pieces.longest >= least)))


def _sort_cells(pieces: DrawnPieces, least: Numbers, stays: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the places of the pieces to merge, ordered by cell, where each cell begins in them, and the cell numbers."""
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
