"""The call paths of many calls: which frames are around each, and the time of the calls of each path."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]

# By how many ns a call may end after the one around it: rounding, as in cpu_slice.parent_id.
_ROUNDING = 1_000

# No call, or none around it.
_NONE = -1
# What a call is in is not in the period.
_LOST = -2


class CallSlices(NamedTuple):
    """Calls of whole host threads, in columns: times are ns, `parent_id` is the slice around a call (-1 for none).

    `label` numbers the kind and name of the call.
    """

    slice_id: Numbers
    parent_id: Numbers
    thread_id: Numbers
    label: Numbers
    ts: Numbers
    ts_end: Numbers


class Level(NamedTuple):
    """Call paths of the same depth, in columns: `around` is the place of the parent path in the level before.

    On the first level `around` is the thread_id. `calls` and `host_ns` have a row for each path and a column for each
    batch of periods.
    """

    around: Numbers
    label: Numbers
    calls: Numbers
    host_ns: Numbers


class Paths(msgspec.Struct, frozen=True):
    """The call paths by level, numbered from the outermost on, and the path of each slice in each period.

    `_path` has the paths of a slice at `_times` places from `_first` on, one for each period.
    """

    levels: tuple[Level, ...]
    _place: _PlacesOfIds
    _first: Numbers
    _times: Numbers
    _path: Numbers

    def find_paths(self, slice_ids: Numbers) -> Numbers:
        """Return for each slice id the number of its call path, in the first period where it has one; -1 without a path."""
        rows = self._place.find(slice_ids)
        found = np.full(len(rows), _NONE, np.int64)
        wanted, turn = np.flatnonzero(rows >= 0), 0
        while len(wanted := wanted[self._times[rows[wanted]] > turn]):
            found[wanted] = self._path[self._first[rows[wanted]] + turn]
            wanted, turn = wanted[found[wanted] < 0], turn + 1
        return found


class _PlacesOfIds:
    """The places of ids, each there once, in a column of ids, which may be any numbers: a database of others has its own."""

    def __init__(self, ids: Numbers) -> None:
        self._order = np.argsort(ids, kind="stable").astype(np.int32)
        self._rising = ids[self._order]

    def find(self, ids: Numbers) -> Numbers:
        """Return the places of `ids` in the column, -1 for those that are not there."""
        if not len(self._rising):
            return np.full(len(ids), _NONE, np.int32)
        at = np.minimum(np.searchsorted(self._rising, ids), len(self._rising) - 1)
        return np.where(self._rising[at] == ids, self._order[at], np.int32(_NONE))


class Periods(NamedTuple):
    """Periods in order of time, in columns: ends in ns, and the number of the batch, from 0, that each belongs to."""

    ts: Numbers
    ts_end: Numbers
    batch: Numbers


def find_paths(slices: CallSlices, periods: Periods, labels: int) -> Paths:
    """Find the call paths of the calls inside the periods; `labels` is the number of labels.

    A call that outlasts the call it began in, as a range that a function opens, stands beside this call, which counts
    until then.
    """
    place = _PlacesOfIds(slices.slice_id)
    around, row_end = _settle_parents(place.find(slices.parent_id), slices.ts, slices.ts_end)
    first_period = np.searchsorted(periods.ts_end, slices.ts, side="right")
    times = np.maximum(np.searchsorted(periods.ts, row_end, side="left") - first_period, 0)
    first = np.cumsum(times) - times
    row = np.repeat(np.arange(len(times)), times)
    period = first_period[row] + np.arange(len(row)) - first[row]
    up = around[row]
    turn = period - first_period[up]
    parent = np.where((turn >= 0) & (turn < times[up]), first[up] + turn, _LOST)
    parent[up == _NONE] = _NONE
    rows = _CutCalls(
        parent,
        slices.thread_id[row],
        slices.label[row],
        np.maximum(slices.ts[row], periods.ts[period]),
        np.minimum(row_end[row], periods.ts_end[period]),
        periods.batch[period],
    )
    levels, path = _number_levels(rows, labels, int(periods.batch.max(initial=0)) + 1)
    return Paths(tuple(levels), place, first, times, path)


def _settle_parents(around: Numbers, ts: Numbers, ts_end: Numbers) -> tuple[Numbers, Numbers]:
    """Return for each call the place of the first enclosing call that outlasts it, and its end in ns.

    A call ends where a longer one begins in it.
    """
    moved = np.flatnonzero((around >= 0) & (ts_end > ts_end[around] + _ROUNDING))
    if not len(moved):
        return around, ts_end
    settled, cut = around.copy(), ts_end.copy()
    while len(moved):
        outlived = settled[moved]
        np.minimum.at(cut, outlived, ts[moved])
        settled[moved] = around[outlived]
        moved = moved[(settled[moved] >= 0) & (ts_end[moved] > ts_end[settled[moved]] + _ROUNDING)]
    return settled, cut


class _CutCalls(NamedTuple):
    """Calls cut at the ends of periods, in columns: `parent` is the place of the call around each, `batch` the period's."""

    parent: Numbers
    thread_id: Numbers
    label: Numbers
    ts: Numbers
    ts_end: Numbers
    batch: Numbers


def _number_levels(calls: _CutCalls, labels: int, batches: int) -> tuple[list[Level], Numbers]:
    """Return the call paths by level, and the number of each call's path; -1 for calls in none.

    Calls are cut at the ends of those around them: `ts_end` is changed in place.
    """
    parent, thread_id, label, ts, ts_end, batch = calls
    levels: list[Level] = []
    path = np.full(len(parent), _NONE, np.int32)
    before, known = 0, 0  # paths on the levels before the last one, and on all
    now, waiting = np.flatnonzero(parent == _NONE), np.flatnonzero(parent >= 0)
    around = thread_id[now].astype(np.int64)
    while len(now):
        size = int(around.max()) + 1
        keys, places = number_keys(around * labels + label[now], size * labels)
        places_in = places * batches + batch[now]
        calls_in = np.bincount(places_in, minlength=len(keys) * batches)
        spent_in = sum_at(places_in, ts_end[now] - ts[now], len(keys) * batches)
        shape = (len(keys), batches)
        levels.append(Level(keys // labels, keys % labels, calls_in.reshape(shape), spent_in.reshape(shape)))
        path[now] = known + places
        before, known = known, known + len(keys)
        is_next = path[parent[waiting]] >= 0
        now, waiting = waiting[is_next], waiting[~is_next]
        now = now[ts[now] < ts_end[parent[now]]]
        ts_end[now] = np.minimum(ts_end[now], ts_end[parent[now]])
        around = path[parent[now]].astype(np.int64) - before
    return levels, path


def number_keys(keys: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Return the distinct `keys` in rising order, and for each key its place among them; keys are from 0 to `size` - 1."""
    if size > 4 * len(keys) + 1_000_000:
        return np.unique(keys, return_inverse=True)
    is_there = np.zeros(size, bool)
    is_there[keys] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[keys]


def sum_at(places: Numbers, values: Numbers, size: int) -> Numbers:
    """Return for each of `size` places the sum of the `values` (whole numbers) that belong there.

    Sums are exact: floats would be rounded above 2^53.
    """
    found = np.zeros(size, np.int64)
    np.add.at(found, places, values)
    return found
