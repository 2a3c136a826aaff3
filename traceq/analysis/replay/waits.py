"""Which GPU work each call of the host waited for before it returned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traceq.analysis.replay.recorded import NONE, WAITED, Booleans, Floats, Integers, Recorded
from traceq.analysis.replay.usual import medians

# The clocks of host and GPU are this close together, ns.
_CLOCKS_APART = 100_000
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

# Kinds of what a call waits for, as in dependency.kind.
SYNCHRONIZATION, COPY, QUEUE, ALLOCATION = range(4)
KINDS = ("synchronization", "blocking_copy", "queue", "allocation")


class Waits(NamedTuple):
    """Edges from GPU work to the return of a call: `slice` and `event` are positions, sorted by event.

    `kind` of an event is the position in KINDS or -1. What waits for room in the queue waits for the start of the slice,
    everything else for its end. `had_to` of an event: whether any of it was still to end when the call was made.
    """

    event: Integers
    slice: Integers
    kind: Integers
    had_to: Booleans


def waits_of_host(recorded: Recorded) -> Waits:
    """What the trace says, and what it shows: long calls that return when work ends, or has started."""
    events, work = recorded.events, recorded.work
    streams = _Streams(recorded)
    kind = np.full(len(events.ts), NONE, dtype=np.int64)
    edges: list[tuple[int, int]] = []
    first, last = _own(recorded)
    is_long = events.allocates & ~events.waits & (events.call > _LONG_CALL)
    for number in np.flatnonzero(events.waits | _waited_for_room(recorded) | is_long).tolist():
        found: list[int]
        if events.waits[number]:
            own = [one for one in range(first[number], last[number] + 1) if not work.is_migration[one]]
            kind[number] = COPY if own else SYNCHRONIZATION
            found = own or streams.awaited_by(number)
            # What ended after the call had returned was not waited for.
            found = [one for one in found if work.ts_end[one] <= events.ts_end[number] + _CLOCKS_APART]
        elif events.allocates[number]:
            kind[number] = ALLOCATION
            found = streams.all_of(number)
            ends = work.ts_end[found]
            # Freeing waits for the device; of what allocates it is known only where it returns as the GPU runs dry.
            after = events.ts_end[number] - ends.max() if len(found) else np.inf
            if after < 0 or after >= (1.0 if events.frees[number] else _LITTLE) * events.call[number]:
                found = []
        else:
            kind[number] = QUEUE
            found = streams.started_in(number)
        if not found:
            kind[number] = NONE
        edges += [(number, one) for one in found]
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    had_to = np.zeros(len(events.ts), dtype=bool)
    if len(pairs):
        until = np.where(kind[pairs[:, 0]] == QUEUE, work.ts[pairs[:, 1]], work.ts_end[pairs[:, 1]])
        had_to[pairs[until > events.ts[pairs[:, 0]], 0]] = True
    return Waits(pairs[:, 0], pairs[:, 1], kind, had_to)


def _own(recorded: Recorded) -> tuple[Integers, Integers]:
    """First and last slice that each event launches; last is before first where there is none."""
    events = np.arange(len(recorded.events.ts))
    return (
        np.searchsorted(recorded.work.event, events, side="left"),
        np.searchsorted(recorded.work.event, events, side="right") - 1,
    )


def _waited_for_room(recorded: Recorded) -> Booleans:
    """Which launches found the queue full."""
    events = recorded.events
    queued = _queued(recorded)
    most = int(queued.max(initial=0))
    at_limit = events.launches & ~events.waits & (queued >= most - 1)
    if most < _FULL_QUEUE or at_limit.sum() < _OFTEN:
        return np.zeros(len(queued), dtype=bool)
    usual = medians(events.name, events.call, events.launches & ~at_limit)
    return at_limit & (events.call > _TIMES_USUAL * np.nan_to_num(usual))


class Paces(NamedTuple):
    """Batches from worker processes: `event` was not given its batch before `lag` (ns) after `previous` was given its own."""

    event: Integers
    previous: Integers
    lag: Floats


def paces_of_workers(recorded: Recorded) -> Paces:
    """Fetches that waited for worker processes: these set the pace then, whatever the host does."""
    events = recorded.events
    here = np.flatnonzero(events.fetches)
    place = before_in(events.thread[here])
    here, previous = here[place >= 0], here[place[place >= 0]]
    lag = (events.ts_end[here] - events.ts_end[previous]).astype(np.float64)
    waited = events.call[here] > _WAITED_FOR * lag
    return Paces(here[waited], previous[waited], lag[waited])


def _queued(recorded: Recorded) -> Integers:
    """Launches of a process that have not started when each event's call is made."""
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


class _Streams:
    """The slices of each stream in the order of launches."""

    def __init__(self, recorded: Recorded) -> None:
        self._events, self._work = recorded.events, recorded.work
        work = recorded.work
        self._positions: dict[tuple[int, int, int], Integers] = {}
        order = np.argsort(work.stream, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(work.stream[order])) + 1):
            if len(part):
                one = int(part[0])
                self._positions[int(work.pid[one]), int(work.device[one]), int(work.raw_stream[one])] = part
        self._events_of = {key: work.event[part] for key, part in self._positions.items()}
        self._launched = {key: np.maximum.accumulate(recorded.events.ts[each]) for key, each in self._events_of.items()}
        self._started: dict[int, tuple[Integers, Integers]] = {}

    def awaited_by(self, number: int) -> list[int]:
        """The last slice before the call on the stream it waits for; without one, on every stream of its process."""
        events = self._events
        stream, device, kind = int(events.stream[number]), int(events.device[number]), int(events.kind[number])
        keys = self._keys(number)
        # The default stream waits for all others.
        on_stream = [key for key in keys if key[2] == stream and device in (NONE, key[1])] or keys
        if kind == WAITED.index("event") and events.recorded[number] != NONE:
            at = [
                (key, np.searchsorted(self._launched[key], events.recorded[number], side="left")) for key in on_stream
            ]
            return [int(self._positions[key][place - 1]) for key, place in at if place]
        return self._last(number, keys if kind == WAITED.index("context") else on_stream)

    def all_of(self, number: int) -> list[int]:
        """The last slice before the call on every stream of its process."""
        return self._last(number, self._keys(number))

    def started_in(self, number: int) -> list[int]:
        """The last slice, of those launched before, that started while the call waited: it made room in the queue."""
        pid = int(self._events.pid[number])
        if pid not in self._started:
            here = np.flatnonzero(self._work.pid == pid)
            here = here[np.argsort(self._work.ts[here], kind="stable")]
            self._started[pid] = here, self._work.ts[here]
        positions, ts = self._started[pid]
        low, high = np.searchsorted(ts, [self._events.ts[number], self._events.ts_end[number]])
        found = positions[low:high]
        found = found[self._work.event[found] < number]
        return [int(found[-1])] if len(found) else []

    def _keys(self, number: int) -> list[tuple[int, int, int]]:
        pid = int(self._events.pid[number])
        return [key for key in self._positions if key[0] == pid]

    def _last(self, number: int, keys: list[tuple[int, int, int]]) -> list[int]:
        at = [(key, np.searchsorted(self._events_of[key], number, side="left")) for key in keys]
        return [int(self._positions[key][place - 1]) for key, place in at if place]


def before_in(keys: Integers) -> Integers:
    """Position of the element before with the same key; -1 for none."""
    order = np.argsort(keys, kind="stable")
    found = np.full(len(keys), NONE, dtype=np.int64)
    same = keys[order][1:] == keys[order][:-1]
    found[order[1:][same]] = order[:-1][same]
    return found
