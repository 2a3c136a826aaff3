"""Finds the innermost slice at each point in time: starts, ends and other points of host threads, merged with arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    Numbers = npt.NDArray[np.integer[Any]]
    Flags = npt.NDArray[np.bool_]

# No slice, phase or state from here on; and of phases and states: what was before goes on.
NOTHING, SAME = -1, -2

# The rank of points that are neither start nor end.
NO_BOUNDARY = np.iinfo(np.int32).min


class Points(NamedTuple):
    """Points in time (ns) of host threads, one array element each, and what holds from there on.

    Of the points of a thread at the same time, the one with the highest `rank` tells the innermost slice. `phase` and
    `state` are numbers of host_phase and host_activity, or SAME. The first point of a thread gives all three.
    """

    thread: Numbers
    ts: Numbers
    rank: Numbers
    slice_id: Numbers
    phase: Numbers
    state: Numbers


def make_points(thread: Numbers, ts: Numbers, **columns: Numbers | int) -> Points:
    """Build points of these threads and times (ns); `columns` gives fields of Points.

    Without `rank` a point neither starts nor ends a slice; a phase or state that is not given stays as before the point.
    """
    says = {"rank": NO_BOUNDARY, "slice_id": NOTHING, "phase": SAME, "state": SAME} | columns
    types = {"rank": np.int32, "slice_id": np.int64, "phase": np.int8, "state": np.int8}
    rest = [np.broadcast_to(np.asarray(says[name], types[name]), len(ts)) for name in types]
    return Points(thread, ts, *rest)


def take_points(some: Points, which: Numbers | Flags | slice) -> Points:
    """Return the points that `which` selects (indices, a mask or a Python slice), in that order."""
    return Points(*(column[which] for column in some))


def join_points(*some: Points) -> Points:
    """Return all points in one, concatenated and not sorted."""
    return Points(*(np.concatenate(columns) for columns in zip(*some, strict=True)))


def merge_points(some: Points) -> tuple[Points, Flags]:
    """Return one point for each thread and time, in this order, with all that holds from there on, and a mask.

    The mask is true for points that begin a segment of the timeline: where a slice starts or ends, or the phase changes.
    """
    if not len(some.ts):
        return some, np.zeros(0, np.bool_)
    thread, ts, rank, slice_id, phase, state = take_points(some, np.lexsort((some.ts, some.thread)))
    is_first = np.empty(len(ts), np.bool_)
    is_first[0] = True
    is_first[1:] = (ts[1:] != ts[:-1]) | (thread[1:] != thread[:-1])
    first = np.flatnonzero(is_first)
    if len(first) < len(ts):
        highest, phase, state = (np.maximum.reduceat(column, first) for column in (rank, phase, state))
        group = np.cumsum(is_first) - 1
        deciding = np.flatnonzero(rank == highest[group])
        deciding = deciding[np.diff(group[deciding], prepend=-1) != 0]
        thread, ts, rank, slice_id = thread[first], ts[first], highest, slice_id[deciding]
    is_start, is_turn = rank > NO_BOUNDARY, phase != SAME
    said = Points(
        thread,
        ts,
        rank,
        _carry_forward(slice_id, is_start),
        _carry_forward(phase, is_turn),
        _carry_forward(state, state != SAME),
    )
    return said, is_start | is_turn


def _carry_forward(values: Numbers, is_said: Flags) -> Numbers:
    """Return `values` with each element for which `is_said` is false replaced by the last before it for which it is true."""
    if is_said.all():
        return values
    return values[np.maximum.accumulate(np.where(is_said, np.arange(len(values)), 0))]
