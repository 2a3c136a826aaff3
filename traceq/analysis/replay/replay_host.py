"""The host's time between and in the calls of a replay, by cause or by name of the slices it is spent in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.replay.recorded import NONE
from traceq.database.sql import relation, run, statement

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

    from traceq.analysis.replay.recorded import Booleans, Floats, Integers, Recorded

    Causes = npt.NDArray[np.uint8]  # numbers of causes, 0 for none

NO_CAUSE = "none"
_PROFILER = "idle_profiler"
_ROWS_AT_ONCE = 3 * 122_880
# What the host is busy with, whatever the profiler does meanwhile.
_CONTEXTS = ("idle_data", "idle_checkpoint", "idle_compile")


class _ReplayTimeline(NamedTuple):
    """Segments of a thread that follow one another: the begin of each, ns, and the number of its cause (0: none)."""

    bounds: Integers
    cause: Causes


class _EventTimes(NamedTuple):
    """Places of three times of each event among segments: of the end of the event before, of its own begin and its own end."""

    here: Integers  # positions of the events
    lengths: Integers  # of the segments but the last
    at: tuple[Integers, ...]  # the segment of each time
    inside: tuple[Integers, ...]  # how long before each time its segment began, ns


class HostTime:
    """Host time between and in the events of `recorded`, by cause; where a thread is idle, the training thread's cause counts."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, recorded: Recorded) -> None:
        self._connection, self._recorded = connection, recorded
        events = recorded.events
        trains = recorded.steps[0].thread_id
        training = NONE if trains is None else trains
        self._threads = np.where(events.thread == NONE, training, events.thread)
        starts = events.begun - events.gap.astype(np.int64)
        self._times = (starts, events.begun, events.begun + events.call.astype(np.int64))
        cause_of: dict[int, str] = dict(run(connection, "analysis/replay/replay_cause.sql").fetchall())
        names = [NO_CAUSE, *sorted(set(cause_of.values()))]
        self._number = {name: number for number, name in enumerate(names)}
        self._of_activity = np.zeros(1 << 8, dtype=np.uint8)
        for activity, cause in cause_of.items():
            self._of_activity[activity] = self._number[cause]
        own = self._read_timeline(training)
        overhead = run(connection, "analysis/replay/replay_overhead.sql").fetchall()
        profiler = self._read_timeline(overhead[0][0]) if overhead else None
        self._timelines: dict[int, tuple[_ReplayTimeline, _EventTimes]] = {}
        # Scenarios that follow one another ask for the same cause.
        self._last: tuple[str, tuple[Floats, Floats]] | None = None
        for thread in np.unique(self._threads[(self._threads != NONE) & ~events.is_outside]).tolist():
            timeline = own if thread == training else _fill_idle(self._read_timeline(thread), own)
            if profiler:
                contexts = [self._number[name] for name in _CONTEXTS]
                timeline = _overlay_profiler(timeline, profiler, self._number[_PROFILER], contexts)
            self._timelines[thread] = timeline, self._place_events(thread, timeline.bounds)

    def cause_times(self, cause: str) -> tuple[Floats, Floats]:
        """Return for each event the time of `cause` since the event before it in its lane, and inside it; ns."""
        if self._last is None or self._last[0] != cause:
            number = self._number.get(cause, -1)
            found = [(times, timeline.cause == number) for timeline, times in self._timelines.values()]
            self._last = cause, self._sum_segments(found)
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

        Before it means since the event before in its lane. The intervals come from analysis/replay/`query`.sql for each
        thread; `settings` are parameters of the query.
        """
        window = {"ts": self._recorded.ts, "ts_end": self._recorded.ts_end, **settings}
        found = []
        for thread in self._timelines:
            rows = run(self._connection, f"analysis/replay/{query}.sql", thread_id=thread, **window).fetchnumpy()
            bounds, is_it = _unite_intervals(np.asarray(rows["ts"]), np.asarray(rows["ts_end"]))
            if is_it.any():
                found.append((self._place_events(thread, bounds), is_it))
        return self._sum_segments(found)

    def _place_events(self, thread: int, bounds: Integers) -> _EventTimes:
        """Return where the thread's events lie among segments that begin at `bounds` (ns)."""
        here = np.flatnonzero((self._threads == thread) & ~self._recorded.events.is_outside)
        times = [time[here] for time in self._times]
        at = tuple(np.maximum(np.searchsorted(bounds, moments, side="right") - 1, 0) for moments in times)
        inside = tuple(np.maximum(moments - bounds[one], 0) for moments, one in zip(times, at, strict=True))
        return _EventTimes(here, np.diff(bounds), at, inside)

    def _sum_segments(self, found: list[tuple[_EventTimes, Booleans]]) -> tuple[Floats, Floats]:
        """Return for each event the time before it and inside it that lies in the marked segments; ns.

        `found` has for each thread where its events lie, and a mask of the segments.
        """
        gap, call = np.zeros(len(self._threads)), np.zeros(len(self._threads))
        for times, is_it in found:
            if is_it.any():
                begun = np.zeros(len(is_it), dtype=np.int64)
                np.cumsum(np.where(is_it[:-1], times.lengths, 0), out=begun[1:])
                until = [begun[at] + is_it[at] * inside for at, inside in zip(times.at, times.inside, strict=True)]
                gap[times.here], call[times.here] = until[1] - until[0], until[2] - until[1]
        return gap, call

    def _read_timeline(self, thread: int) -> _ReplayTimeline:
        """Return the thread's segments from the start of the replayed steps on; one without a cause if it has none."""
        rows = relation(
            self._connection,
            statement("analysis/replay/replay_timeline.sql"),
            thread_id=thread,
            ts_end=self._recorded.ts_end,
        ).to_arrow_reader(_ROWS_AT_ONCE)
        parts = [
            _merge_alike(
                np.maximum(batch.column("ts").to_numpy(), self._recorded.ts),
                self._of_activity[batch.column("activity").to_numpy()],
            )
            for batch in rows
        ]
        if not parts:
            return _ReplayTimeline(np.array([self._recorded.ts]), np.zeros(1, dtype=np.uint8))
        return _merge_alike(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


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


def _fill_idle(timeline: _ReplayTimeline, by: _ReplayTimeline) -> _ReplayTimeline:
    """Return the timeline in which the causes of `by`, another thread, fill the segments without a cause."""
    bounds, own, other = _align_timelines(timeline, by)
    return _merge_alike(bounds, np.where(own == 0, other, own))


def _overlay_profiler(
    timeline: _ReplayTimeline, profiler: _ReplayTimeline, overhead: int, contexts: list[int]
) -> _ReplayTimeline:
    """Return the timeline with the profiler's own work (cause `overhead`) laid over all segments but those of `contexts`.

    `profiler` is a single timeline for the whole process, as idle_overhead.sql makes it.
    """
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
