"""The GPU work that each call of the host waited for before it returned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traceq.analysis.replay.recorded import NONE, WAITED, Booleans, Floats, Integers, Recorded
from traceq.analysis.replay.usual import kind_medians
from traceq.database.times import CLOCKS_APART

# A launch waits for room in the queue, which holds about 1,024 launches (fewer with large arguments), when as many are queued as
# ever are, again and again, and it takes longer than others. The least that counts as a full queue, and as again and again:
_FULL_QUEUE = 256
_OFTEN = 10
_TIMES_USUAL = 1.5
# An allocation of this length (ns) that returns when the GPU runs dry, but for a share of its length, waited for it.
_LONG_CALL = 50_000
_LITTLE = 0.1
# A batch that took longer than this share of the time since the one before was waited for.
_WAITED_FOR = 0.05
# So many batches are in flight with four workers that have two each (defaults of PyTorch's DataLoader): work on one begins before
# so many earlier ones are fetched, and what the host does meanwhile neither hastens nor delays it.
_IN_FLIGHT = 8

# Kinds of what a call waits for, as in dependency.kind.
SYNCHRONIZATION, COPY, QUEUE, ALLOCATION = range(4)
KINDS = ("synchronization", "blocking_copy", "queue", "allocation")


class Waits(NamedTuple):
    """Edges from GPU work to the return of a call: `slice` and `event` are indices, sorted by event.

    `kind` is by event, an index into KINDS or -1. A call that waits for room in the launch queue waits for the slice's
    start, others for its end. `had_to` is by event: whether any of the awaited work was still to come when the call was
    made.
    """

    event: Integers
    slice: Integers
    kind: Integers
    had_to: Booleans


def waits_of_host(recorded: Recorded) -> Waits:
    """Return the waits of host calls for GPU work, recorded or inferred.

    Inferred are waits of long calls that return as GPU work ends (allocations) or starts (launches into a full queue).
    """
    events, work = recorded.events, recorded.work
    streams = _Streams(recorded)
    is_long = events.allocates & ~events.waits & (events.call > _LONG_CALL)
    others = (_find_full_queues(recorded) | is_long) & ~events.waits
    launches = np.zeros(len(events.ts), dtype=bool)
    own = np.flatnonzero(events.waits[work.event] & ~work.is_migration)
    launches[work.event[own]] = True
    parts = [
        _in_time(recorded, COPY, _Edges(work.event[own], own)),
        _in_time(recorded, SYNCHRONIZATION, streams.find_awaited(np.flatnonzero(events.waits & ~launches))),
        _run_dry(recorded, streams.all_of(np.flatnonzero(others & events.allocates))),
        (QUEUE, streams.find_started(np.flatnonzero(others & ~events.allocates))),
    ]
    kind = np.full(len(events.ts), NONE, dtype=np.int64)
    for name, found in parts:
        kind[found.event] = name
    event, piece = (np.concatenate(columns) for columns in zip(*(found for _, found in parts), strict=True))
    order = np.argsort(event, kind="stable")
    event, piece = event[order], piece[order]
    had_to = np.zeros(len(events.ts), dtype=bool)
    until = np.where(kind[event] == QUEUE, work.ts[piece], work.ts_end[piece])
    had_to[event[until > events.ts[event]]] = True
    return Waits(event, piece, kind, had_to)


class _Edges(NamedTuple):
    """Pairs of an event and a slice that it may wait for, both by index; those of an event in the order of streams."""

    event: Integers
    slice: Integers

    def some(self, which: Booleans) -> _Edges:
        """Return the edges that the mask `which` selects."""
        return _Edges(self.event[which], self.slice[which])


def _in_time(recorded: Recorded, kind: int, found: _Edges) -> tuple[int, _Edges]:
    """Return `kind` and the edges without those to slices that end after the call returned: it did not wait for them."""
    ends = recorded.work.ts_end[found.slice]
    return kind, found.some(ends <= recorded.events.ts_end[found.event] + CLOCKS_APART)


def _run_dry(recorded: Recorded, found: _Edges) -> tuple[int, _Edges]:
    """Return ALLOCATION and the edges of calls that waited: those that free memory, or that return as the GPU runs dry."""
    events, work = recorded.events, recorded.work
    latest = np.full(len(events.ts), np.iinfo(np.int64).min)
    np.maximum.at(latest, found.event, work.ts_end[found.slice])
    event = found.event
    after = events.ts_end[event] - latest[event]
    share = np.where(events.frees[event], 1.0, _LITTLE)
    return ALLOCATION, found.some((after >= 0) & (after < share * events.call[event]))


def _find_full_queues(recorded: Recorded) -> Booleans:
    """Return a mask of the launches (by event) that waited for room in a full launch queue."""
    events = recorded.events
    queued = _count_queued(recorded)
    most = int(queued.max(initial=0))
    at_limit = events.launches & ~events.waits & (queued >= most - 1)
    if most < _FULL_QUEUE or at_limit.sum() < _OFTEN:
        return np.zeros(len(queued), dtype=bool)
    usual = kind_medians(events.name, events.call, events.launches & ~at_limit)
    return at_limit & (events.call > _TIMES_USUAL * np.nan_to_num(usual))


class Paces(NamedTuple):
    """Batches that had to be waited for: the fetch `event` gets its batch `lag` ns after the fetch `previous` got its own."""

    event: Integers
    previous: Integers
    lag: Floats


def paces_of_workers(recorded: Recorded) -> Paces:
    """Return the fetches that waited for worker processes, which then set the pace, whatever the host does.

    The `previous` fetch of each is the last of its thread that waited too, or the first of the capture, if fewer than 8 fetches
    ago, else the one before. The lag is as recorded.
    """
    events = recorded.events
    here = np.flatnonzero(events.fetches)
    place = previous_with_key(events.thread[here])
    number = np.arange(len(here))
    has_previous = place >= 0
    waited = np.zeros(len(here), dtype=bool)
    lag = (events.ts_end[here] - events.ts_end[here[np.maximum(place, 0)]]).astype(np.float64)
    waited[has_previous] = (events.call[here] > _WAITED_FOR * lag)[has_previous]
    previous = place.copy()
    for one in np.flatnonzero(waited).tolist():
        at, steps = int(place[one]), 1
        while at >= 0 and not waited[at] and place[at] >= 0 and steps < _IN_FLIGHT:
            at, steps = int(place[at]), steps + 1
        previous[one] = at if waited[at] or place[at] < 0 else place[one]
    chosen = number[waited]
    lag = (events.ts_end[here[chosen]] - events.ts_end[here[previous[chosen]]]).astype(np.float64)
    return Paces(here[chosen], here[previous[chosen]], lag)


def _count_queued(recorded: Recorded) -> Integers:
    """Return for each event how many launches of its process have not started on the GPU when its call is made."""
    work, events = recorded.work, recorded.events
    queued = np.zeros(len(events.ts), dtype=np.int64)
    if not len(work.ts):
        return queued
    event, first = np.unique(work.event, return_index=True)
    starts = np.minimum.reduceat(work.ts, first)
    for pid in np.unique(events.pid).tolist():
        here = events.pid[event] == pid
        started = np.sort(starts[here])
        launched = events.ts[event[here]]
        mine = np.flatnonzero(events.pid == pid)
        at = events.ts[mine]
        queued[mine] = np.searchsorted(np.sort(launched), at, side="left") - np.searchsorted(started, at, side="right")
    return queued


class _Stream(NamedTuple):
    """The slices of a stream in the order of launches: indices, launching events, and the latest launch time so far (ns)."""

    pid: int
    device: int
    number: int
    slice: Integers
    event: Integers
    launched: Integers


class _Streams:
    """The streams of the recorded work; finds the last slices on them before calls are made."""

    def __init__(self, recorded: Recorded) -> None:
        self._events, self._work = recorded.events, recorded.work
        work = recorded.work
        self._streams: list[_Stream] = []
        for part in group_alike(work.stream):
            one, event = int(part[0]), work.event[part]
            launched = np.maximum.accumulate(recorded.events.ts[event])
            place = int(work.pid[one]), int(work.device[one]), int(work.raw_stream[one])
            self._streams.append(_Stream(*place, part, event, launched))

    def find_awaited(self, numbers: Integers) -> _Edges:
        """Return edges from each call (index of an event) to the last slice before it on the stream that it waits for.

        Calls that wait for the whole device, or on the default stream, get an edge for each stream of their process. Of calls
        that wait for a CUDA event, the slices before the event was recorded count.
        """
        events = self._events
        found = []
        asked = np.stack([events.pid, events.stream, events.device, events.kind])[:, numbers]
        alike, which = np.unique(asked, axis=1, return_inverse=True)
        for number, (pid, stream, device, kind) in enumerate(alike.T.tolist()):
            here = numbers[which.reshape(-1) == number]
            streams = self._streams_of(pid)
            # The default stream waits for all others.
            meant = [one for one in streams if one.number == stream and device in (NONE, one.device)] or streams
            is_event = (events.recorded[here] != NONE) & (kind == WAITED.index("event"))
            times = events.recorded[here[is_event]]
            found += [
                _last_before_at(one, here[is_event], np.searchsorted(one.launched, times, side="left")) for one in meant
            ]
            asked_for = streams if kind == WAITED.index("context") else meant
            found += [self._last_before(one, here[~is_event]) for one in asked_for]
        return _concatenate_edges(found)

    def all_of(self, numbers: Integers) -> _Edges:
        """Return edges from each call (index of an event) to the last slice before it on every stream of its process."""
        pids = self._events.pid[numbers]
        return _concatenate_edges(
            [
                self._last_before(one, numbers[pids == pid])
                for pid in np.unique(pids).tolist()
                for one in self._streams_of(pid)
            ]
        )

    def find_started(self, numbers: Integers) -> _Edges:
        """Return an edge from each call (index of an event) to the slice whose start made room in the launch queue.

        It is the last slice that started during the call and was launched before; calls without one get no edge.
        """
        events, work = self._events, self._work
        found = []
        for pid in np.unique(events.pid[numbers]).tolist():
            here = numbers[events.pid[numbers] == pid]
            slices = np.flatnonzero(work.pid == pid)
            slices = slices[np.argsort(work.ts[slices], kind="stable")]
            low, place = (np.searchsorted(work.ts[slices], times[here]) for times in (events.ts, events.ts_end))
            open_ = np.flatnonzero(place > low)
            # From the last one back, until one is found that was launched before.
            while len(open_):
                open_ = open_[work.event[slices[place[open_] - 1]] >= here[open_]]
                place[open_] -= 1
                open_ = open_[place[open_] > low[open_]]
            there = place > low
            found.append(_Edges(here[there], slices[place[there] - 1]))
        return _concatenate_edges(found)

    def _streams_of(self, pid: int) -> list[_Stream]:
        """Return the streams of the process."""
        return [stream for stream in self._streams if stream.pid == pid]

    def _last_before(self, stream: _Stream, numbers: Integers) -> _Edges:
        """Return edges from each call to the last slice on the stream that was launched before it."""
        return _last_before_at(stream, numbers, np.searchsorted(stream.event, numbers, side="left"))


def _last_before_at(stream: _Stream, numbers: Integers, places: Integers) -> _Edges:
    """Return edges from each call to the slice before its place on the stream; none for place 0."""
    there = places > 0
    return _Edges(numbers[there], stream.slice[places[there] - 1])


def _concatenate_edges(found: list[_Edges]) -> _Edges:
    """Return all edges in one; no edges for an empty list."""
    nothing = np.zeros(0, dtype=np.int64)
    return _Edges(*(np.concatenate(columns) for columns in zip(_Edges(nothing, nothing), *found, strict=True)))


def group_alike(keys: Integers) -> list[Integers]:
    """Return for each key, in their order, the indices of the elements that have it."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(keys) else []


def previous_with_key(keys: Integers) -> Integers:
    """Return for each element the index of the last one before it with the same key; -1 for none."""
    order = np.argsort(keys, kind="stable")
    found = np.full(len(keys), NONE, dtype=np.int64)
    same = keys[order][1:] == keys[order][:-1]
    found[order[1:][same]] = order[:-1][same]
    return found
