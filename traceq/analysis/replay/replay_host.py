"""How much of the host's time between and in the calls of a replay has each cause, or is spent in slices of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from traceq.analysis.replay.recorded import NONE
from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

    from traceq.analysis.replay.recorded import Booleans, Floats, Integers, Recorded

    Names = npt.NDArray[Any]

NO_CAUSE = "none"
_PROFILER = "idle_profiler"
# What the host is busy with, whatever the profiler does meanwhile.
_CONTEXTS = ("idle_data", "idle_checkpoint", "idle_compile")


class HostTime:
    """What the host did between and in the events of `recorded`, by cause; the training thread speaks for idle ones."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, recorded: Recorded) -> None:
        self._connection, self._recorded = connection, recorded
        events = recorded.events
        trains = recorded.steps[0].thread_id
        training = NONE if trains is None else trains
        self._training = training
        self._threads = np.where(events.thread == NONE, training, events.thread)
        starts = events.begun - events.gap.astype(np.int64)
        self._times = (starts, events.begun, events.begun + events.call.astype(np.int64))
        own = self._timeline(training)
        overhead = run(connection, "analysis/replay/replay_overhead.sql").fetchone()
        profiler = self._timeline(overhead[0]) if overhead else None
        self._timelines: dict[int, tuple[Integers, Names]] = {}
        # Each cause is asked for by several scenarios.
        self._by_cause: dict[str, tuple[Floats, Floats]] = {}
        for thread in np.unique(self._threads[(self._threads != NONE) & ~events.is_outside]).tolist():
            timeline = own if thread == training else _spoken_for(self._timeline(thread), own)
            self._timelines[thread] = _overlaid(timeline, profiler) if profiler else timeline

    def of(self, cause: str) -> tuple[Floats, Floats]:
        """Per event the time of `cause` before it and in it, ns."""
        if cause not in self._by_cause:
            timelines = {thread: (bounds, causes == cause) for thread, (bounds, causes) in self._timelines.items()}
            self._by_cause[cause] = self._where(timelines)
        return self._by_cause[cause]

    def named(self, pattern: str) -> tuple[Floats, Floats]:
        """Per event the time before it and in it in slices whose name fits `pattern` (as GLOB of SQL), ns."""
        return self._listed("replay_named", pattern=pattern)

    def stalled(self) -> tuple[Floats, Floats]:
        """Per event the time before it and in it in which its thread stood still (host_stall), ns."""
        return self._listed("replay_stall")

    def _listed(self, query: str, **settings: str) -> tuple[Floats, Floats]:
        """Per event the time before it and in it inside the intervals that a query of this folder lists for its thread, ns."""
        window = {"ts": self._recorded.ts, "ts_end": self._recorded.ts_end, **settings}
        found = {}
        for thread in self._timelines:
            rows = run(self._connection, f"analysis/replay/{query}.sql", thread_id=thread, **window).fetchnumpy()
            found[thread] = _covered(np.asarray(rows["ts"]), np.asarray(rows["ts_end"]))
        return self._where(found)

    def _where(self, timelines: dict[int, tuple[Integers, Booleans]]) -> tuple[Floats, Floats]:
        gap, call = np.zeros(len(self._threads)), np.zeros(len(self._threads))
        for thread, (bounds, is_it) in timelines.items():
            if is_it.any():
                here = (self._threads == thread) & ~self._recorded.events.is_outside
                until = [_until(bounds, is_it, each[here]) for each in self._times]
                gap[here], call[here] = until[1] - until[0], until[2] - until[1]
        return gap, call

    def _timeline(self, thread: int) -> tuple[Integers, Names]:
        """Where the segments of a thread begin, from the start of the window on, and the cause of each."""
        found = run(
            self._connection, "analysis/replay/replay_timeline.sql", thread_id=thread, ts_end=self._recorded.ts_end
        ).fetchnumpy()
        if not len(found["ts"]):
            return np.array([self._recorded.ts]), np.array([NO_CAUSE], dtype=object)
        return np.maximum(np.asarray(found["ts"]), self._recorded.ts), np.asarray(found["cause"], dtype=object)


def _covered(ts: Integers, ts_end: Integers) -> tuple[Integers, Booleans]:
    """The union of intervals, which are in the order of their starts, as bounds and whether each begins a part of it."""
    if not len(ts):
        return np.array([0]), np.array([False])
    until = np.maximum.accumulate(ts_end)
    begins = np.concatenate([[True], ts[1:] > until[:-1]])
    starts, ends = ts[begins], until[np.concatenate([np.flatnonzero(begins)[1:] - 1, [len(ts) - 1]])]
    bounds = np.stack([starts, ends], axis=1).reshape(-1)
    return bounds, np.tile([True, False], len(starts))


def _spoken_for(timeline: tuple[Integers, Names], by: tuple[Integers, Names]) -> tuple[Integers, Names]:
    """The timeline, with what another thread does where this one does nothing."""
    bounds, own, other = _side_by_side(timeline, by)
    return bounds, np.where(own == NO_CAUSE, other, own)


def _overlaid(timeline: tuple[Integers, Names], profiler: tuple[Integers, Names]) -> tuple[Integers, Names]:
    """The timeline, with the profiler's own work laid over it, as idle_overhead.sql does."""
    bounds, own, other = _side_by_side(timeline, profiler)
    return bounds, np.where((other == _PROFILER) & ~np.isin(own, _CONTEXTS), other, own)


def _side_by_side(one: tuple[Integers, Names], other: tuple[Integers, Names]) -> tuple[Integers, Names, Names]:
    # Two sorted lists, which a stable sort merges.
    bounds = np.sort(np.concatenate([one[0], other[0]]), kind="stable")
    bounds = bounds[np.diff(bounds, prepend=bounds[0] - 1) > 0]
    at = [np.maximum(np.searchsorted(each[0], bounds, side="right") - 1, 0) for each in (one, other)]
    return bounds, one[1][at[0]], other[1][at[1]]


def _until(bounds: Integers, is_it: Booleans, times: Integers) -> Floats:
    """Time before each of `times` in segments that are it, ns."""
    total = np.concatenate([[0], np.cumsum(np.where(is_it[:-1], np.diff(bounds), 0))])
    at = np.maximum(np.searchsorted(bounds, times, side="right") - 1, 0)
    return np.asarray(total[at] + np.where(is_it[at], np.maximum(times - bounds[at], 0), 0), dtype=np.float64)
