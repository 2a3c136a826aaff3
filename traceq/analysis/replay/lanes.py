"""The host clocks of a replay: threads of a process that take turns share one lane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.replay.too_large import too_many_threads

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Booleans = npt.NDArray[np.bool_]

_NONE = -1

# Threads of a process are driven one by another (autograd), unless more of their calls than this run at the same time.
_MOST_OVERLAPPING = 0.02
_FEWEST_OVERLAPPING = 2

# Programs that train or serve have tens of threads; 4,000 that all work at once are as many pairs.
_MOST_PAIRS = 8_000_000
# Calls during which others begin are written out so many at a time, to save memory.
_AT_ONCE = 1 << 21


class _Calls(NamedTuple):
    """The calls of a process in the order of time, ns; their threads are numbered, those with most calls first."""

    thread: Integers
    ts: Integers
    ts_end: Integers
    counts: Integers  # calls of each thread


def assign_lanes(
    pid: Integers, thread: Integers, ts: Integers, ts_end: Integers, is_outside: Booleans, is_mark: Booleans
) -> Integers:
    """Return the lane (number of the host clock) of each event: threads of a process that hardly ever work at once share one.

    Events are in the order of time (`ts`). Lane 0 is for launches from outside. Raises TooLarge where too many threads make
    calls at the same time.
    """
    lane = np.full(len(ts), _NONE, dtype=np.int64)
    lane[is_outside] = 0
    inside = np.flatnonzero(~is_outside)
    count = 1
    for here in (inside[part] for part in split_by(pid[inside])):
        works = here[~is_mark[here]]
        threads, number, sizes = np.unique(thread[works], return_inverse=True, return_counts=True)
        order = np.argsort(-sizes, kind="stable")
        rank = np.argsort(order)
        calls = _Calls(rank[number], ts[works], ts_end[works], sizes[order])
        group = _group_threads(calls)[rank]
        lane[works] = count + group[number]
        # Marks stand on the clock of their thread, or where it makes no calls on that of the thread that makes most.
        marks = here[is_mark[here]]
        for mark in marks[np.isin(thread[marks], threads)].tolist():
            lane[mark] = count + group[np.searchsorted(threads, thread[mark])]
        lane[marks[lane[marks] == _NONE]] = count
        count += int(group.max(initial=0)) + 1
    return lane


def split_by(key: Integers) -> Iterator[Integers]:
    """Yield for each value of `key`, in the order of values, the positions that have it, in their order."""
    if len(key):
        order = np.argsort(key, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(key[order])) + 1)


def _group_threads(calls: _Calls) -> Integers:
    """Return the number of the group of each thread: the first group in which no thread works at the same time as it does."""
    group = np.zeros(len(calls.counts), dtype=np.int64)
    later, earlier = _find_pairs_at_once(calls)
    begins = np.searchsorted(later, np.arange(len(group) + 1))
    for one in np.unique(later).tolist():
        taken = np.unique(group[earlier[begins[one] : begins[one + 1]]])
        free = np.flatnonzero(taken != np.arange(len(taken)))
        group[one] = free[0] if len(free) else len(taken)
    return group


def _find_pairs_at_once(calls: _Calls) -> tuple[Integers, Integers]:
    """Return the pairs of threads that work at once, as later and earlier number, in their order.

    Their calls overlap more than twice, and in more than 2 % of the calls of the thread with fewer, which is the later one.
    """
    pairs, overlaps = _count_overlaps(calls)
    later, earlier = np.divmod(pairs, len(calls.counts)) if len(pairs) else (pairs, pairs)
    begin = np.full(len(calls.counts), np.iinfo(np.int64).max)
    end = np.full(len(calls.counts), np.iinfo(np.int64).min)
    np.minimum.at(begin, calls.thread, calls.ts)
    np.maximum.at(end, calls.thread, calls.ts_end)
    at_once = overlaps > np.maximum(_FEWEST_OVERLAPPING, _MOST_OVERLAPPING * calls.counts[later])
    # of threads that follow one another only calls without a length may touch
    at_once &= (begin[later] < end[earlier]) & (begin[earlier] < end[later])
    return later[at_once], earlier[at_once]


def _count_overlaps(calls: _Calls) -> tuple[Integers, Integers]:
    """Return the pairs of threads, as later number * threads + earlier, and how many calls of either begin during the other's.

    Raises TooLarge for more pairs than are compared.
    """
    threads = len(calls.counts)
    first, last = _find_begun_meanwhile(calls)
    sizes = last - first
    until = np.cumsum(sizes)
    pairs, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    begin = 0
    while begin < len(sizes):
        done = until[begin] - sizes[begin]
        most = done + max(_AT_ONCE, len(pairs) // 2)
        end = max(int(np.searchsorted(until, most, side="right")), begin + 1)
        length = sizes[begin:end]
        starts = np.repeat(first[begin:end] - (until[begin:end] - length - done), length)
        other = calls.thread[starts + np.arange(len(starts))]
        one = np.repeat(calls.thread[begin:end], length)
        found = (np.maximum(one, other) * threads + np.minimum(one, other))[one != other]
        pairs, counts = _add_counts(pairs, counts, found)
        if len(pairs) > _MOST_PAIRS:
            raise too_many_threads(threads, _MOST_PAIRS)
        begin = end
    return pairs, counts


def _find_begun_meanwhile(calls: _Calls) -> tuple[Integers, Integers]:
    """Return for each call the range of positions of the calls that begin during it, until its thread makes the next."""
    until = calls.ts_end.copy()
    order = np.argsort(calls.thread, kind="stable")
    follows = calls.thread[order][1:] == calls.thread[order][:-1]
    before, after = order[:-1][follows], order[1:][follows]
    until[before] = np.minimum(until[before], calls.ts[after])
    first = np.searchsorted(calls.ts, calls.ts)
    return first, np.maximum(np.searchsorted(calls.ts, until), first)


def _add_counts(pairs: Integers, counts: Integers, found: Integers) -> tuple[Integers, Integers]:
    """Return the pairs, which are in order, and their counts with those of `found` added, in which a pair may be often."""
    new, times = np.unique(found, return_counts=True)
    if not len(pairs):
        return new, times
    keys = np.concatenate([pairs, new])
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
    return keys[order][begins], np.add.reduceat(np.concatenate([counts, times])[order], begins)
