"""How much of the host's time between and in the calls of a replay has each cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from traceq.database.sql import run

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt

    from traceq.analysis.nesting.stack import Integers
    from traceq.analysis.replay.replay_model import Recorded

    Floats = npt.NDArray[np.float64]
    Names = npt.NDArray[Any]

NO_CAUSE = "none"
_PROFILER = "idle_profiler"
# What the host is busy with, whatever the profiler does meanwhile.
_CONTEXTS = ("idle_data", "idle_checkpoint", "idle_compile")


class HostTime:
    """What the host did between and in the events of `recorded`, by cause; the training thread speaks for idle ones."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, recorded: Recorded) -> None:
        trains = connection.execute("select thread_id from _training_thread").fetchone()
        training = trains[0] if trains else None
        events = recorded.events
        self._threads = np.array(
            [training if each.thread_id is None else each.thread_id for each in events], dtype=float
        )
        self._starts, self._bounds, self._ends = _intervals(recorded)
        end = recorded.steps[-1].ts_end
        own = _timeline(connection, training, recorded.ts, end)
        overhead = run(connection, "analysis/replay/replay_overhead.sql").fetchone()
        profiler = _timeline(connection, overhead[0], recorded.ts, end) if overhead else None
        self._timelines: dict[float, tuple[Integers, Names]] = {}
        for thread in np.unique(self._threads[~np.isnan(self._threads)]):
            timeline = _timeline(connection, int(thread), recorded.ts, end)
            timeline = timeline if thread == training else _spoken_for(timeline, own)
            self._timelines[thread] = _overlaid(timeline, profiler) if profiler else timeline

    def of(self, cause: str) -> tuple[Floats, Floats]:
        """Per event the time of `cause` before it and in it, ns."""
        gap, call = np.zeros(len(self._threads)), np.zeros(len(self._threads))
        for thread, (bounds, causes) in self._timelines.items():
            is_it = causes == cause
            if is_it.any():
                here = self._threads == thread
                until = [_until(bounds, is_it, each[here]) for each in (self._starts, self._bounds, self._ends)]
                gap[here], call[here] = until[1] - until[0], until[2] - until[1]
        return gap, call


def _intervals(recorded: Recorded) -> tuple[Integers, Integers, Integers]:
    """Per event the end of the one before in its process, its start and its end, none before the one before."""
    last: dict[int, int] = {}
    starts, bounds, ends = [], [], []
    for each in recorded.events:
        before = last.get(each.pid, recorded.ts)
        starts.append(before)
        bounds.append(max(each.ts, before))
        ends.append(max(each.ts_end, before))
        last[each.pid] = ends[-1]
    return np.array(starts), np.array(bounds), np.array(ends)


def _timeline(
    connection: duckdb.DuckDBPyConnection, thread: int | None, ts: int, ts_end: int
) -> tuple[Integers, Names]:
    """Where the segments of a thread begin, from `ts` on, and the cause of each."""
    found = run(connection, "analysis/replay/replay_timeline.sql", thread_id=thread, ts_end=ts_end).fetchnumpy()
    if not len(found["ts"]):
        return np.array([ts]), np.array([NO_CAUSE], dtype=object)
    return np.maximum(np.asarray(found["ts"]), ts), np.asarray(found["cause"], dtype=object)


def _spoken_for(timeline: tuple[Integers, Names], by: tuple[Integers, Names]) -> tuple[Integers, Names]:
    """The timeline, with what another thread does where this one does nothing."""
    bounds, own, other = _side_by_side(timeline, by)
    return bounds, np.where(own == NO_CAUSE, other, own)


def _overlaid(timeline: tuple[Integers, Names], profiler: tuple[Integers, Names]) -> tuple[Integers, Names]:
    """The timeline, with the profiler's own work laid over it, as idle_overhead.sql does."""
    bounds, own, other = _side_by_side(timeline, profiler)
    return bounds, np.where((other == _PROFILER) & ~np.isin(own, _CONTEXTS), other, own)


def _side_by_side(one: tuple[Integers, Names], other: tuple[Integers, Names]) -> tuple[Integers, Names, Names]:
    bounds = np.union1d(one[0], other[0])
    at = [np.maximum(np.searchsorted(each[0], bounds, side="right") - 1, 0) for each in (one, other)]
    return bounds, one[1][at[0]], other[1][at[1]]


def _until(bounds: Integers, is_it: npt.NDArray[np.bool_], times: Integers) -> Floats:
    """Time before each of `times` in segments that are it, ns."""
    total = np.concatenate([[0], np.cumsum(np.where(is_it[:-1], np.diff(bounds), 0))])
    at = np.maximum(np.searchsorted(bounds, times, side="right") - 1, 0)
    return np.asarray(total[at] + np.where(is_it[at], np.maximum(times - bounds[at], 0), 0), dtype=np.float64)
