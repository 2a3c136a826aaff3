"""The host's time between and in the calls of a replay, by cause or by name of the slices it is spent in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.replay.lanes import split_by
from traceq.analysis.replay.recorded import NONE
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import numpy.typing as npt

    from traceq.analysis.replay.recorded import Booleans, Floats, Integers, Recorded

    Causes = npt.NDArray[np.uint8]  # numbers of causes, 0 for none
    Places = npt.NDArray[np.int32]  # indices of segments

NO_CAUSE = "none"
_PROFILER = "idle_profiler"
_ROWS_AT_ONCE = 3 * 122_880
# What the host is busy with, whatever the profiler does meanwhile.
_CONTEXTS = ("idle_data", "idle_checkpoint", "idle_compile")


class _ReplayTimeline(NamedTuple):
    """Segments of a thread that follow one another: the begin of each, ns, and the number of its cause (0: none)."""

    bounds: Integers
    cause: Causes


class HostTime:
    """Host time between and in the events of `recorded`, by cause; where a thread is idle, the training thread's cause counts.

    The profiler's own work is laid over all but some causes, as idle_overhead.sql does it: on a single timeline for the process.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, recorded: Recorded) -> None:
        self._connection, self._recorded = connection, recorded
        events = recorded.events
        trains = recorded.steps[0].thread_id
        training = NONE if trains is None else trains
        threads = np.where(events.thread == NONE, training, events.thread)
        self._inside = np.flatnonzero((threads != NONE) & ~events.is_outside)
        parts = (self._inside[part] for part in split_by(threads[self._inside]))
        self._events_of = {int(threads[here[0]]): here for here in parts}
        starts = events.begun - events.gap.astype(np.int64)
        self._times = (starts, events.begun, events.begun + events.call.astype(np.int64))
        cause_of: dict[int, str] = dict(run(connection, "analysis/replay/replay_cause.sql").fetchall())
        names = [NO_CAUSE, *sorted(set(cause_of.values()))]
        self._number = {name: number for number, name in enumerate(names)}
        self._of_activity = np.zeros(1 << 8, dtype=np.uint8)
        for activity, name in cause_of.items():
            self._of_activity[activity] = self._number[name]
        overhead = run(connection, "analysis/replay/replay_overhead.sql").fetchall()
        thread, bounds, cause = self._read_timelines({*self._events_of, training, *(found for (found,) in overhead)})
        ranges = {int(thread[part[0]]): slice(int(part[0]), int(part[-1]) + 1) for part in split_by(thread)}
        self._segments = _ReplayTimeline(bounds, cause)
        # The segment of each time of each event, by index.
        self._at = tuple(np.zeros(len(events.ts), dtype=np.int32) for _ in self._times)
        for one, here in self._events_of.items():
            for at, times in zip(self._at, self._times, strict=True):
                at[here] = ranges[one].start + _find_segments(bounds[ranges[one]], times[here])
        self._idle = _ReplayTimeline(bounds[ranges[training]], cause[ranges[training]])
        self._profiled: list[Integers] | None = None
        if overhead:
            row = ranges[overhead[0][0]]
            profiler, number = _ReplayTimeline(bounds[row], cause[row]), self._number[_PROFILER]
            self._idle = _overlay_profiler(self._idle, profiler, number, self._number_contexts())
            self._profiled = [
                _measure_covered(
                    profiler.bounds, profiler.cause == number, _find_segments(profiler.bounds, moments), moments
                )
                for moments in (bounds, *self._times)
            ]
        self._idle_at = [_find_segments(self._idle.bounds, moments) for moments in (bounds, *self._times)]
        # Scenarios that follow one another ask for the same cause.
        self._last: tuple[str, tuple[Floats, Floats]] | None = None

    def cause_times(self, cause: str) -> tuple[Floats, Floats]:
        """Return for each event the time of `cause` since the event before it in its lane, and inside it; ns."""
        if self._last is None or self._last[0] != cause:
            self._last = cause, self._sum_cause(self._number.get(cause, -1))
        return self._last[1]

    def times_in_slices(self, pattern: str) -> tuple[Floats, Floats]:
        """Return for each event the time in slices whose name matches the GLOB `pattern`, before it and inside it; ns.

        Before it means since the event before in its lane.
        """
        return self._times_in_intervals("replay_named", pattern=pattern)

    def stall_times(self) -> tuple[Floats, Floats]:
        """Return for each event the time in which its thread stood still (host_stall), before it and inside it; ns.

        Before it means since the event before in its lane.
        """
        return self._times_in_intervals("replay_stall")

    def _times_in_intervals(self, query: str, **settings: str) -> tuple[Floats, Floats]:
        """Return for each event the time before it and inside it that intervals cover; ns.

        Before it means since the event before in its lane. The intervals come from analysis/replay/`query`.sql for all
        threads; `settings` are parameters of the query.
        """
        window = {"ts": self._recorded.ts, "ts_end": self._recorded.ts_end, **settings}
        threads = list(self._events_of)
        rows = run(self._connection, f"analysis/replay/{query}.sql", threads=threads, **window).fetchnumpy()
        thread, ts, ts_end = (np.asarray(rows[name]) for name in ("thread_id", "ts", "ts_end"))
        gap, call = np.zeros(len(self._times[0])), np.zeros(len(self._times[0]))
        for part in split_by(thread):
            bounds, is_it = _unite_intervals(ts[part], ts_end[part])
            here = self._events_of[int(thread[part[0]])]
            until = [
                _measure_covered(bounds, is_it, _find_segments(bounds, times[here]), times[here])
                for times in self._times
            ]
            gap[here], call[here] = until[1] - until[0], until[2] - until[1]
        return gap, call

    def _sum_cause(self, number: int) -> tuple[Floats, Floats]:
        """Return for each event the time before it and inside it whose cause has the number; ns."""
        bounds, cause = self._segments
        moments = (bounds, *self._times)
        is_it = self._idle.cause == number
        idle = [
            _measure_covered(self._idle.bounds, is_it, at, now) for at, now in zip(self._idle_at, moments, strict=True)
        ]
        causes = (cause, *(cause[at] for at in self._at))
        profiled: Sequence[Integers | None] = self._profiled or [None] * len(moments)
        begun, *now = (self._count_until(number, *which) for which in zip(causes, moments, idle, profiled, strict=True))
        # A segment ends where the next begins; from one thread to another this is no time, and none is asked for.
        ended = self._count_until(
            number, cause[:-1], bounds[1:], idle[0][1:], None if profiled[0] is None else profiled[0][1:]
        )
        passed = np.zeros(len(bounds), dtype=np.int64)
        np.cumsum(ended - begun[:-1], out=passed[1:])
        until = [(passed[at] + found - begun[at])[self._inside] for at, found in zip(self._at, now, strict=True)]
        gap, call = np.zeros(len(self._times[0])), np.zeros(len(self._times[0]))
        gap[self._inside], call[self._inside] = until[1] - until[0], until[2] - until[1]
        return gap, call

    def _count_until(
        self, number: int, cause: Causes, moments: Integers, idle: Integers, profiled: Integers | None
    ) -> Integers:
        """Return how much time of the cause `number` a segment of `cause` has until each moment, from one zero on; ns.

        `idle` is that of a thread that is idle, `profiled` that of the profiler's own work, None if there is none.
        """
        found: Integers = np.where(cause == 0, idle, np.where(cause == number, moments, 0))
        if profiled is None:
            return found
        overlaid = (cause != 0) & ~np.isin(cause, self._number_contexts())
        overhead = self._number[_PROFILER]
        if number == overhead:
            found = np.where(overlaid & (cause != overhead), profiled, found)
        else:
            found = np.where(overlaid & (cause == number), moments - profiled, found)
        return found

    def _number_contexts(self) -> list[int]:
        """Return the numbers of the causes that stand, whatever the profiler does meanwhile."""
        return [self._number[name] for name in _CONTEXTS]

    def _read_timelines(self, threads: set[int]) -> tuple[Integers, Integers, Causes]:
        """Return thread, begin (ns) and cause of the segments of all threads, from the start of the replayed steps on.

        A thread that has no timeline has one segment without a cause.
        """
        rows = relation(
            self._connection,
            statement("analysis/replay/replay_timeline.sql"),
            threads=sorted(threads),
            ts_end=self._recorded.ts_end,
        ).to_arrow_reader(_ROWS_AT_ONCE)
        parts = [
            _merge_threads(
                batch.column("thread_id").to_numpy().astype(np.int64),
                np.maximum(batch.column("ts").to_numpy(), self._recorded.ts),
                self._of_activity[batch.column("activity").to_numpy()],
            )
            for batch in rows
        ]
        known = set().union(*(part[0].tolist() for part in parts))
        silent = np.array(sorted(threads - known), dtype=np.int64)
        parts.append((silent, np.full(len(silent), self._recorded.ts), np.zeros(len(silent), dtype=np.uint8)))
        thread, bounds, cause = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(thread, kind="stable")
        return _merge_threads(thread[order], bounds[order], cause[order])


def _merge_threads(thread: Integers, bounds: Integers, cause: Causes) -> tuple[Integers, Integers, Causes]:
    """Return the segments with neighbouring ones of equal thread and cause merged: of many host slices few are left."""
    begins = np.append(True, (cause[1:] != cause[:-1]) | (thread[1:] != thread[:-1]))[: len(thread)]
    return thread[begins], bounds[begins], cause[begins]


def _find_segments(bounds: Integers, moments: Integers) -> Places:
    """Return the index of the segment that each moment (ns) lies in; the first also for moments before it."""
    return np.maximum(np.searchsorted(bounds, moments, side="right") - 1, 0).astype(np.int32)


def _measure_covered(bounds: Integers, is_it: Booleans, at: Places, moments: Integers) -> Integers:
    """Return how long the marked segments have lasted until each moment, which lies in the segment with index `at`; ns."""
    begun: Integers = np.zeros(len(is_it), dtype=np.int64)
    np.cumsum(np.where(is_it[:-1], np.diff(bounds), 0), out=begun[1:])
    found: Integers = begun[at] + is_it[at] * np.maximum(moments - bounds[at], 0)
    return found


def _merge_alike(bounds: Integers, cause: Causes) -> _ReplayTimeline:
    """Return the timeline with neighbouring segments of equal cause merged: of many host slices few segments are left."""
    begins = np.append(True, cause[1:] != cause[:-1])
    return _ReplayTimeline(bounds[begins], cause[begins])


def _unite_intervals(ts: Integers, ts_end: Integers) -> tuple[Integers, Booleans]:
    """Return the union of intervals sorted by start: bounds (ns), and whether a covered part begins at each bound."""
    if not len(ts):
        return np.array([0]), np.array([False])
    until = np.maximum.accumulate(ts_end)
    begins = np.concatenate([[True], ts[1:] > until[:-1]])
    starts, ends = ts[begins], until[np.concatenate([np.flatnonzero(begins)[1:] - 1, [len(ts) - 1]])]
    bounds = np.stack([starts, ends], axis=1).reshape(-1)
    return bounds, np.tile([True, False], len(starts))


def _overlay_profiler(
    timeline: _ReplayTimeline, profiler: _ReplayTimeline, overhead: int, contexts: list[int]
) -> _ReplayTimeline:
    """Return the timeline with the profiler's own work (cause `overhead`) laid over all segments but those of `contexts`."""
    bounds, own, other = _align_timelines(timeline, profiler)
    return _merge_alike(bounds, np.where((other == overhead) & ~np.isin(own, contexts), other, own))


def _align_timelines(one: _ReplayTimeline, other: _ReplayTimeline) -> tuple[Integers, Causes, Causes]:
    # Two sorted lists, which a stable sort merges.
    """Return all bounds (ns) of two timelines, and from each bound on the cause in the one and in the other."""
    bounds = np.concatenate([one.bounds, other.bounds])
    order = np.argsort(bounds, kind="stable")
    bounds, is_one = bounds[order], order < len(one.bounds)
    # Of those at the same time the last knows both.
    last = np.append(bounds[1:] > bounds[:-1], True)
    places = [np.maximum(np.cumsum(mine)[last] - 1, 0) for mine in (is_one, ~is_one)]
    return bounds[last], one.cause[places[0]], other.cause[places[1]]
